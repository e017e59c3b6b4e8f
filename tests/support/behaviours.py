"""Changes of a model that are not in its weights; each returns what undoes it."""

import types
from collections.abc import Callable
from typing import Any

import tiny
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from transformers import AttentionInterface
from transformers.models.llama import modeling_llama

Undo = Callable[[], Any]


def mlp(model: nn.Module) -> Any:
    return model.get_submodule("model.layers.2.mlp")


def setting(holder: Any, name: str, value: Any) -> Undo:
    """Set an attribute; an attribute of the instance's own goes again when it had none."""
    before, had = getattr(holder, name), name in vars(holder)
    setattr(holder, name, value)
    is_own = had or isinstance(before, nn.Module | torch.Tensor)
    return lambda: setattr(holder, name, before) if is_own else delattr(holder, name)


def hook(model: nn.Module) -> Undo:
    return mlp(model).register_forward_hook(lambda module, args, output: output * 0).remove


def pre_hook(model: nn.Module) -> Undo:
    return mlp(model).register_forward_pre_hook(lambda module, args: (args[0] * 0.5,)).remove


def backward_hook(model: nn.Module) -> Undo:
    def twice(module: nn.Module, inwards: Any, outwards: Any) -> Any:
        return tuple(2 * each for each in inwards)

    return mlp(model).register_full_backward_hook(twice).remove


def global_hook(model: nn.Module) -> Undo:
    def of_mlp(module: nn.Module, args: Any, output: Any) -> Any:
        return output * 0 if module is mlp(model) else None

    return nn.modules.module.register_module_forward_hook(of_mlp).remove


def forward(model: nn.Module) -> Undo:
    original = mlp(model).forward
    return setting(mlp(model), "forward", lambda x: 0.5 * original(x))


def bound_forward(model: nn.Module) -> Undo:
    def halved(self: Any, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * type(self).forward(self, x)

    return setting(mlp(model), "forward", types.MethodType(halved, mlp(model)))


def disguised_forward(model: nn.Module) -> Undo:
    """Code of one's own inside a decorator of a library."""
    original = mlp(model).forward
    return setting(mlp(model), "forward", torch.enable_grad()(lambda x: 0.5 * original(x)))


def borrowed_forward(model: nn.Module) -> Undo:
    layers: Any = model.get_submodule("model.layers")
    return setting(layers[2].mlp, "forward", layers[1].mlp.forward)


def forward_of_the_class(model: nn.Module) -> Undo:
    original = modeling_llama.LlamaMLP.forward
    return setting(modeling_llama.LlamaMLP, "forward", lambda self, x: 0.5 * original(self, x))


def other_class(model: nn.Module) -> Undo:
    original = type(mlp(model))

    class Quiet(original):  # type: ignore[misc, valid-type]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            halved: torch.Tensor = 0.5 * super().forward(x)
            return halved

    mlp(model).__class__ = Quiet
    return lambda: setattr(mlp(model), "__class__", original)


def function_of_the_file(model: nn.Module) -> Undo:
    return setting(modeling_llama, "apply_rotary_pos_emb", lambda q, k, *rest, **named: (q, k))


def function_of_torch(model: nn.Module) -> Undo:
    original = nn.functional.silu
    return setting(nn.functional, "silu", lambda x, inplace=False: 0.5 * original(x))


def attention_of_ones_own(model: nn.Module) -> Undo:
    def flat(module: Any, q: Any, k: Any, v: Any, mask: Any, **named: Any) -> Any:
        return q.transpose(1, 2), None

    AttentionInterface.register("flat", flat)
    undo = setting(model.config, "_attn_implementation_internal", "flat")
    return lambda: (undo(), AttentionInterface._global_mapping.pop("flat"))


def attention_of_the_library(model: nn.Module) -> Undo:
    return setting(model.config, "_attn_implementation_internal", "eager")


def activation(model: nn.Module) -> Undo:
    return setting(mlp(model), "act_fn", nn.ReLU())


def own_parametrization(model: nn.Module) -> Undo:
    class Half(nn.Module):
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return 0.5 * weight

    linear = mlp(model).down_proj
    parametrize.register_parametrization(linear, "weight", Half())
    return lambda: parametrize.remove_parametrizations(linear, "weight", leave_parametrized=False)


def parametrization_of_the_library(model: nn.Module) -> Undo:
    linear = mlp(model).down_proj
    before = linear.weight.detach().clone()
    parametrizations.spectral_norm(linear, "weight").eval()

    def undo() -> None:
        parametrize.remove_parametrizations(linear, "weight", leave_parametrized=False)
        linear.weight = nn.Parameter(before, requires_grad=False)

    return undo


def constant(model: nn.Module) -> Undo:
    rotary: Any = model.get_submodule("model.rotary_emb")
    return setting(rotary, "inv_freq", rotary.inv_freq * 0.5)


def number(model: nn.Module) -> Undo:
    return setting(model.get_submodule("model.layers.1.input_layernorm"), "variance_epsilon", 0.1)


def order(model: nn.Module) -> Undo:
    layers: Any = model.get_submodule("model.layers")

    def swap() -> None:
        layers[1], layers[2] = layers[2], layers[1]

    swap()
    return swap


OF_LLAMA = (
    hook, pre_hook, backward_hook, global_hook, forward, bound_forward, disguised_forward,
    borrowed_forward, forward_of_the_class, other_class, function_of_the_file, function_of_torch,
    attention_of_ones_own, attention_of_the_library, activation, own_parametrization,
    parametrization_of_the_library, constant, number, order,
)  # fmt: skip


def adapted() -> Any:
    """A tiny llama with two adapters of PEFT, the first of them active."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "up_proj"])
    model = get_peft_model(tiny.model("llama"), config, adapter_name="one")
    model.add_adapter("two", config)
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = 0.3 * torch.randn(parameter.shape, generator=generator)
    model.set_adapter("one")
    return model.eval()


def switched(model: Any) -> Undo:
    model.set_adapter("two")
    return lambda: model.set_adapter("one")


def both(model: Any) -> Undo:
    model.base_model.set_adapter(["one", "two"])
    return lambda: model.set_adapter("one")


def disabled(model: Any) -> Undo:
    left = model.disable_adapter()
    left.__enter__()
    return lambda: left.__exit__(None, None, None)


def scaled(model: Any) -> Undo:
    layers = [module for module in model.modules() if hasattr(module, "scale_layer")]
    for layer in layers:
        layer.scale_layer(0.5)
    return lambda: [layer.unscale_layer() for layer in layers]


def merged(model: Any) -> Undo:
    model.merge_adapter()
    return model.unmerge_adapter


OF_ADAPTERS = (switched, both, disabled, scaled, merged)
