"""Models of several architectures for tests, with the inputs that they take; nothing is downloaded.

`EXPECTED_OF_ALEXNET`: operators that PyTorch runs in each layer of AlexNet, at least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class AlexNet(nn.Module):
    """As torchvision builds it, so that the paths are those that its users know."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        result: Tensor = self.classifier(torch.flatten(x, 1))
        return result


_CONVOLUTION = ("aten::conv2d", "aten::convolution", "aten::_convolution")
_POOLING = ("aten::max_pool2d",)
_LINEAR = ("aten::linear", "aten::t", "aten::addmm")
EXPECTED_OF_ALEXNET: dict[str, tuple[str, ...]] = {
    **{f"features.{i}": _CONVOLUTION for i in (0, 3, 6, 8, 10)},
    **{f"features.{i}": ("aten::relu_",) for i in (1, 4, 7, 9, 11)},
    **{f"features.{i}": _POOLING for i in (2, 5, 12)},
    "avgpool": ("aten::adaptive_avg_pool2d",),
    **{f"classifier.{i}": ("aten::dropout",) for i in (0, 3)},
    **{f"classifier.{i}": _LINEAR for i in (1, 4, 6)},
    **{f"classifier.{i}": ("aten::relu_",) for i in (2, 5)},
}


def alexnet() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return AlexNet(classes=10), (torch.rand(1, 3, 64, 64),)


class InvertedResidual(nn.Module):
    """The block of a mobile net: expand, depthwise, project."""

    def __init__(self, width: int, expand: int, stride: int) -> None:
        super().__init__()
        inner = width * expand
        self.same = stride == 1
        self.conv = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU6(),
            nn.Conv2d(inner, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x)
        return x + y if self.same else y


class MobileNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.blocks = nn.Sequential(*[InvertedResidual(8, 4, 1 + i % 2) for i in range(4)])
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(functional.relu6(self.stem(x)))
        result: Tensor = self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))
        return result


def mobile_net() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return MobileNet(), (torch.rand(1, 3, 32, 32),)


def cnn() -> tuple[nn.Module, tuple[Tensor, ...]]:
    layers: list[nn.Module] = []
    for _ in range(6):
        layers += [nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(*layers), (torch.rand(1, 8, 8, 8),)


class Tagger(nn.Module):
    """Embedding, a bidirectional LSTM, a GRU cell stepped in Python, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.cell = nn.GRUCell(32, 16)
        self.out = nn.Linear(16, 5)

    def forward(self, words: Tensor) -> Tensor:
        x, _ = self.lstm(self.embed(words))
        state = torch.zeros(x.shape[0], 16)
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
        result: Tensor = self.out(state)
        return result


def lstm() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Tagger(), (torch.randint(0, 50, (2, 7)),)


def transformer() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Encoder and decoder; the decoder has no fast path."""
    model = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
    return model, (torch.rand(1, 6, 32), torch.rand(1, 5, 32))


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class CachedAttention(nn.Module):
    """Attention of a decoder that keeps keys and values of what it has seen."""

    def __init__(self, width: int, heads: int, most: int) -> None:
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(4))
        shape = (1, heads, most, width // heads)
        self.register_buffer("keys", torch.zeros(shape), persistent=False)
        self.register_buffer("values", torch.zeros(shape), persistent=False)

    def forward(self, x: Tensor, at: int) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (w(x).view(shape).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        keys, values = self.get_buffer("keys"), self.get_buffer("values")
        keys[:, :, at : at + length] = k
        values[:, :, at : at + length] = v
        seen = at + length
        mixed = functional.scaled_dot_product_attention(
            q, keys[:, :, :seen], values[:, :, :seen], is_causal=length > 1
        )
        result: Tensor = self.wo(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, most: int) -> None:
        super().__init__()
        self.attention_norm = RmsNorm(width)
        self.attention = CachedAttention(width, heads, most)
        self.ffn_norm = RmsNorm(width)
        self.w1 = nn.Linear(width, 2 * width, bias=False)
        self.w2 = nn.Linear(2 * width, width, bias=False)
        self.w3 = nn.Linear(width, 2 * width, bias=False)

    def forward(self, x: Tensor, at: int) -> Tensor:
        x = x + self.attention(self.attention_norm(x), at)
        inner = self.ffn_norm(x)
        result: Tensor = x + self.w2(functional.silu(self.w1(inner)) * self.w3(inner))
        return result


class Decoder(nn.Module):
    """A small LLaMA-like decoder that generates: one pass over the prompt, then token by token."""

    def __init__(self, tokens: int = 40, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, 32) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.output = nn.Linear(width, tokens, bias=False)

    def step(self, words: Tensor, at: int) -> Tensor:
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, at)
        result: Tensor = self.output(self.norm(x[:, -1]))
        return result

    def forward(self, prompt: Tensor) -> Tensor:
        at = 0
        words = prompt
        out = []
        for _ in range(4):
            scores = self.step(words, at)
            at += words.shape[1]
            words = scores.argmax(-1, keepdim=True)
            out.append(words)
        return torch.cat(out, 1)


def decoder() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Decoder(), (torch.randint(0, 40, (1, 6)),)


Made = tuple[nn.Module, tuple[Any, ...]]


def of_executorch(name: str) -> Made:
    """A model of the executorch package's examples; imported only here, as that takes seconds."""
    if name == "llama":
        from executorch.examples.models.llama.llama_transformer import construct_transformer
        from executorch.examples.models.llama.model_args import ModelArgs

        sizes = ModelArgs(
            dim=64,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            vocab_size=64,
            max_seq_len=32,
            max_context_len=32,
            use_kv_cache=True,
        )
        return construct_transformer(sizes), (
            torch.randint(0, 64, (1, 1)),
            {"input_pos": torch.tensor([0])},
        )
    if name == "lstm":
        from executorch.examples.models.lstm.model import LSTMModel

        example: Any = LSTMModel()
    else:
        from executorch.examples.models import mlperf_tiny

        example = getattr(mlperf_tiny, name)()
    return example.get_eager_model(), tuple(example.get_example_inputs())


ARCHITECTURES: dict[str, Callable[[], Made]] = {
    "alexnet": alexnet,
    "cnn": cnn,
    "decoder with KV cache": decoder,
    "lstm": lstm,
    "mobile net": mobile_net,
    "transformer": transformer,
    "executorch's llama": lambda: of_executorch("llama"),
    "executorch's lstm": lambda: of_executorch("lstm"),
    "executorch's DSCNNKWS": lambda: of_executorch("DSCNNKWSModel"),
    "executorch's ResNet8": lambda: of_executorch("ResNet8Model"),
    "executorch's MobileNetV1": lambda: of_executorch("MobileNetV1025Model"),
    "executorch's autoencoder": lambda: of_executorch("DeepAutoEncoderModel"),
}
