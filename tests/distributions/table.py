"""Which distributions, with which parameters: the one table that the tests of this folder go through.

A case is the name of a class and its arguments: floating numbers and nested lists (tensors), whole numbers (which stay
as they are), other cases (distributions), or names of transforms.
"""

from dataclasses import dataclass, field

import numpy


@dataclass(frozen=True)
class Case:
    name: str
    arguments: dict = field(hash=False)
    rough: float = 1e-9  # how well PyTorch's draws or their gradients are known: it approximates some of them
    finite_moments: bool = True
    dtype: str = "float64"

    def __str__(self):
        return f"{self.name}({', '.join(self.arguments)})"

    def make(self, module, dtype=None, leaves=None, **changes):
        """The distribution in a module; tensors that require a gradient are added to `leaves`."""
        dtype, built = dtype or self.dtype, {}
        for name, value in {**self.arguments, **changes}.items():
            if isinstance(value, Case):
                built[name] = value.make(module, dtype, leaves)
            elif isinstance(value, list) and value and isinstance(value[0], str):
                built[name] = [getattr(module.distributions, one)() for one in value]
            elif isinstance(value, (list, float)):
                built[name] = module.tensor(value, dtype=getattr(module, dtype))
                if leaves is not None:
                    leaves.append(built[name].requires_grad_())
            else:
                built[name] = value
        modules = module.distributions, module.distributions.relaxed_bernoulli, module.distributions.relaxed_categorical
        return next(getattr(one, self.name) for one in modules if hasattr(one, self.name))(**built)


def case(name, _rough=1e-9, _finite=True, _dtype="float64", **arguments):
    return Case(name, arguments, _rough, _finite, _dtype)


GAMMA = 2e-3  # PyTorch's gradients of gamma and beta draws have that many digits
COVARIANCE = [[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]]
FACTOR = [[1.4, 0.0, 0.0], [0.3, 1.1, 0.0], [-0.2, 0.4, 0.9]]
PROBS = [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]
LOGITS = [[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]]

CASES = [
    case("Bernoulli", probs=[0.2, 0.5, 0.9]),
    case("Bernoulli", logits=[-1.0, 0.0, 2.5]),
    case("Beta", GAMMA, concentration1=[0.5, 2.0, 3.0], concentration0=[0.7, 1.0, 5.0]),
    case("Beta", GAMMA, concentration1=2.5, concentration0=[0.7, 1.5]),
    case("Binomial", total_count=5, probs=[0.2, 0.5, 0.9]),
    case("Binomial", total_count=60, logits=[-1.0, 0.0, 2.5]),
    case("Categorical", probs=PROBS),
    case("Categorical", logits=LOGITS),
    case("Categorical", probs=[1.0, 3.0]),
    case("Cauchy", 1e-9, False, loc=[0.0, 1.0], scale=[1.0, 2.0]),
    case("Chi2", GAMMA, df=[0.6, 3.0, 8.0]),
    case("ContinuousBernoulli", probs=[0.2, 0.5, 0.9]),
    case("ContinuousBernoulli", logits=[-1.0, 0.0, 2.5]),
    case("Dirichlet", GAMMA, concentration=[[0.5, 2.0, 3.0], [1.5, 0.7, 4.0]]),
    case("Dirichlet", GAMMA, concentration=[0.5, 0.2]),
    case("Exponential", rate=[0.5, 2.0]),
    case("FisherSnedecor", GAMMA, df1=[3.0, 10.0], df2=[9.0, 12.0]),
    case("FisherSnedecor", GAMMA, False, df1=[1.0, 10.0], df2=[1.5, 3.0]),
    case("Gamma", GAMMA, concentration=[0.3, 1.0, 20.0], rate=[0.5, 1.0, 3.0]),
    # PyTorch's takes float32 only.
    case(
        "GeneralizedPareto",
        1e-5,
        True,
        "float32",
        loc=[0.0, 1.0, 0.5],
        scale=[1.0, 2.0, 0.7],
        concentration=[0.1, -0.4, 0.0],
    ),
    case("GeneralizedPareto", 1e-5, False, "float32", loc=[0.0, 1.0], scale=[1.0, 2.0], concentration=[0.7, 1.5]),
    case("Geometric", probs=[0.2, 0.5, 0.9]),
    case("Geometric", logits=[-1.0, 0.0, 2.5]),
    case("Gumbel", loc=[0.0, 1.0], scale=[1.0, 2.0]),
    case("HalfCauchy", 1e-9, False, scale=[1.0, 2.0]),
    case("HalfNormal", scale=[1.0, 2.0]),
    case(
        "Independent",
        base_distribution=case("Normal", loc=[[0.0, 1.0]], scale=[[1.0, 2.0]]),
        reinterpreted_batch_ndims=1,
    ),
    case("InverseGamma", GAMMA, concentration=[5.0, 6.0], rate=[0.5, 1.0]),
    case("InverseGamma", GAMMA, False, concentration=[0.5, 1.5], rate=[0.5, 1.0]),
    case("Kumaraswamy", concentration1=[2.0, 0.6], concentration0=[3.0, 1.5]),
    case("LKJCholesky", dim=3, concentration=[1.0, 2.5]),
    case("Laplace", loc=[0.0, 1.0], scale=[1.0, 2.0]),
    case("LogNormal", loc=[0.0, 0.5], scale=[0.5, 0.3]),
    case("LogisticNormal", loc=[[0.0, 0.5], [1.0, 0.0]], scale=[[0.5, 0.3], [1.0, 1.0]]),
    case("LowRankMultivariateNormal", loc=[0.0, 1.0, 2.0], cov_factor=[[1.0], [0.5], [-0.3]], cov_diag=[1.0, 2.0, 0.5]),
    case(
        "LowRankMultivariateNormal",
        loc=[[0.0, 1.0, 2.0], [0.1, 0.2, 0.3]],
        cov_factor=[[1.0, 0.1], [0.5, -1.0], [-0.3, 0.2]],
        cov_diag=[1.0, 2.0, 0.5],
    ),
    case(
        "MixtureSameFamily",
        mixture_distribution=case("Categorical", probs=[0.3, 0.7]),
        component_distribution=case("Normal", loc=[-1.0, 2.0], scale=[0.5, 1.5]),
    ),
    case(
        "MixtureSameFamily",
        mixture_distribution=case("Categorical", probs=[0.3, 0.7]),
        component_distribution=case(
            "Independent",
            base_distribution=case("Normal", loc=[[-1.0, 2.0], [0.0, 1.0]], scale=[[0.5, 1.5], [1.0, 2.0]]),
            reinterpreted_batch_ndims=1,
        ),
    ),
    case("Multinomial", total_count=4, probs=PROBS),
    case("Multinomial", total_count=4, logits=LOGITS),
    case("MultivariateNormal", loc=[0.0, 1.0, 2.0], covariance_matrix=COVARIANCE),
    case("MultivariateNormal", loc=[[0.0, 1.0, 2.0], [0.5, 0.5, 0.5]], scale_tril=FACTOR),
    case("MultivariateNormal", loc=[0.0, 1.0, 2.0], precision_matrix=[COVARIANCE, COVARIANCE]),
    case("NegativeBinomial", total_count=[3.0, 5.0], probs=[0.2, 0.7]),
    case("NegativeBinomial", total_count=3, logits=[-1.0, 0.5]),
    case("Normal", loc=[0.0, 1.0], scale=[1.0, 2.0]),
    case("Normal", loc=0.5, scale=[[1.0], [2.0]]),
    case("OneHotCategorical", probs=PROBS),
    case("OneHotCategorical", logits=LOGITS),
    case("OneHotCategoricalStraightThrough", probs=PROBS),
    case("Pareto", scale=[1.0, 2.0], alpha=[5.0, 6.0]),
    case("Pareto", 1e-9, False, scale=[1.0, 2.0], alpha=[0.5, 1.5]),
    case("Poisson", rate=[0.5, 3.0, 40.0]),
    case("LogitRelaxedBernoulli", temperature=0.7, probs=[0.2, 0.9]),
    case("RelaxedBernoulli", temperature=0.7, probs=[0.2, 0.9]),
    case("RelaxedBernoulli", temperature=0.7, logits=[0.2, 0.9]),
    case("ExpRelaxedCategorical", temperature=0.7, probs=PROBS),
    case("RelaxedOneHotCategorical", temperature=0.7, probs=PROBS),
    case("RelaxedOneHotCategorical", temperature=0.7, logits=LOGITS),
    case("StudentT", GAMMA, df=[5.0, 8.0], loc=[0.0, 1.0], scale=[1.0, 2.0]),
    case("StudentT", GAMMA, False, df=[0.5, 1.5]),
    case(
        "TransformedDistribution",
        base_distribution=case("Normal", loc=[0.0, 1.0], scale=[1.0, 0.5]),
        transforms=["SigmoidTransform", "ExpTransform"],
    ),
    case(
        "TransformedDistribution",
        base_distribution=case("Normal", loc=[[0.0, 1.0]], scale=[1.0, 0.5]),
        transforms=["StickBreakingTransform"],
    ),
    case("Uniform", low=[0.0, 1.0], high=[1.0, 5.0]),
    case("VonMises", loc=[0.5, -1.0], concentration=[0.7, 6.0]),
    case("Weibull", scale=[1.0, 2.0], concentration=[1.5, 3.0]),
    case("Wishart", GAMMA, df=5.0, covariance_matrix=COVARIANCE),
    case("Wishart", GAMMA, df=[4.5, 6.0], scale_tril=FACTOR),
    case("Wishart", GAMMA, df=5.0, precision_matrix=COVARIANCE),
]


def numbers(value):
    """A tensor as an array."""
    return numpy.array(value.detach().tolist())
