"""LoRA on a small Llama, then merged."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from bench.drawn import filled, integers, trained

CONFIG = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def main():
    tokens = integers(64, 2, 12)
    base = filled(LlamaForCausalLM(LlamaConfig(**CONFIG)))
    model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.0))
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    losses = trained(lambda: model(input_ids=tokens, labels=tokens).loss, trainable, rate=0.05)
    with torch.no_grad():
        merged = model.merge_and_unload()(tokens).logits
    return losses, merged, len(trainable)
