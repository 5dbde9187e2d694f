// Numbers for a reader.
const numberText = (number) => number.toLocaleString("en-US");
const counted = (number, noun) => `${numberText(number)} ${noun}${number === 1 ? "" : noun.endsWith("x") || noun.endsWith("ch") ? "es" : "s"}`;

function scaled(count, step, units) {
  let place = 0;
  while (count >= step && place < units.length - 1) {
    count /= step;
    place++;
  }
  return `${count >= 100 || Number.isInteger(count) ? Math.round(count) : count.toPrecision(count >= 10 ? 3 : 2)} ${units[place]}`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(count) {
  if (count < 1024) return `${count} B`;
  let place = 0;
  while (count >= 1024 && place < BYTE_UNITS.length - 1) {
    count /= 1024;
    place++;
  }
  return `${tenthText(count)} ${BYTE_UNITS[place]}`;
}

// One digit after the point. What lies in the middle goes to the even one, as the text of the report has it.
function tenthText(number) {
  const tenths = Math.floor(number * 10);
  return number * 10 - tenths === 0.5 ? ((tenths + (tenths % 2)) / 10).toFixed(1) : number.toFixed(1);
}

const unbroken = (text) => text.replaceAll(" ", "\u00a0"); // a number stays with its unit
const flopsText = (count) => scaled(count, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"]);
const timeText = (nanoseconds) => scaled(nanoseconds, 1000, ["ns", "µs", "ms", "s"]);

// Distances of round numbers that put about `most` ticks on a span: 1, 2 or 5 times a power of ten, or of two for bytes.
function roundStep(span, most, unit) {
  const rough = span / Math.max(1, most);
  if (unit === "bytes") return 2 ** Math.ceil(Math.log2(Math.max(1, rough)));
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
}
