"""Writes the fixtures in this folder. PyTorch is not needed: what torch.save does is repeated here with Python's
own pickle and zipfile modules, from PyTorch's documentation and source (torchfile.go names them). The classes below
stand for PyTorch's of the same names; the pickler asks each for how it is rebuilt, as it would ask PyTorch's.

    python3 fixtures.py
"""
import collections, io, pickle, pickletools, struct, sys, types, zipfile

torch = types.ModuleType("torch")
torch._utils = types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": torch._utils})


def name_of(module, name):
    def function(*args):
        return (name, args)

    function.__module__, function.__name__, function.__qualname__ = module.__name__, name, name
    setattr(module, name, function)
    return function


rebuild = name_of(torch._utils, "_rebuild_tensor_v2")
parameter = name_of(torch._utils, "_rebuild_parameter")


class Storage:
    def __init__(self, kind, elements):
        self.kind, self.elements = getattr(torch, kind, None) or name_of(torch, kind), elements


class Tensor:
    def __init__(self, kind, elements, offset, shape, stride):
        self.args = (Storage(kind, elements), offset, tuple(shape), tuple(stride), False)

    def __reduce_ex__(self, protocol):
        return rebuild, self.args + (collections.OrderedDict(),)


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce_ex__(self, protocol):
        return parameter, (self.tensor, True, collections.OrderedDict())


class Pickler(pickle._Pickler):  # the one in Python; its C twin writes the same
    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            return ("storage", obj.kind, "0", "cpu", obj.elements)
        return None


def dump(obj):
    out = io.BytesIO()
    Pickler(out, protocol=2).dump(obj)
    return out.getvalue()


def archive(folder, pkl, data):
    """An archive as PyTorch 2.x lays it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, content in [
            ("data.pkl", pkl), (".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", b"little"),
            ("data/0", data), ("version", b"3\n"), (".data/serialization_id", b"0" * 40),
        ]:
            info = zipfile.ZipInfo(f"{folder}/{name}")
            start = out.tell() + 30 + len(info.filename) + 4
            padding = -start % 64
            info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
            z.writestr(info, content)
    return out.getvalue()


pickles = {
    "scalar": Tensor("FloatStorage", 1, 0, (), ()),
    "vector": Tensor("LongStorage", 300, 0, (300,), (1,)),
    "matrix": Tensor("FloatStorage", 6, 0, (2, 3), (3, 1)),
    "cube": Tensor("HalfStorage", 120000, 0, (300, 20, 20), (400, 20, 1)),
    "image": Tensor("ByteStorage", 4 * 3 * 256 * 70000, 0, (4, 3, 256, 70000), (3 * 256 * 70000, 256 * 70000, 70000, 1)),
    "large": Tensor("CharStorage", 5 << 30, 0, (5 << 30,), (1,)),
    "empty": Tensor("BoolStorage", 0, 0, (0, 4), (4, 1)),
}
for name, tensor in pickles.items():
    with open(f"{name}.pkl.hex", "w") as f:
        f.write(pickletools.optimize(dump(tensor)).hex() + "\n")
data = struct.pack("<6f", 0, 1, 2, 3, 4, 5)
for name, obj in {
    "saved": Tensor("FloatStorage", 6, 0, (2, 3), (3, 1)),
    "view": Tensor("FloatStorage", 6, 1, (2, 2), (3, 1)),
    "parameter": Parameter(Tensor("FloatStorage", 6, 0, (2, 3), (3, 1))),
    "list": [Tensor("FloatStorage", 6, 0, (2, 3), (3, 1))],
    "bytes": Tensor("ByteStorage", 24, 0, (24,), (1,)),
}.items():
    with open(f"{name}.pt", "wb") as f:
        f.write(archive("tensor", dump(obj), data))
