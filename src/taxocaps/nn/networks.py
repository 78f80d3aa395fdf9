"""The networks by name; this module imports none of them, nor torch."""

from typing import TYPE_CHECKING

from taxocaps.registry import Registry

if TYPE_CHECKING:
    from taxocaps.nn.network import Network

__all__ = ["NETWORKS"]

NETWORKS: "Registry[type[Network]]" = Registry(
    "network",
    "taxocaps.networks",
    {
        "words-matrix": "taxocaps.nn.words_matrix:WordsMatrixNetwork",
        "dgcnn": "taxocaps.nn.dgcnn:DGCNN",
        "lstm": "taxocaps.nn.sequence.lstm:LSTMNetwork",
        "hierarchical": "taxocaps.nn.sequence.hierarchical:HierarchicalNetwork",
        "kim-cnn": "taxocaps.nn.sequence.kim_cnn:KimCNN",
        "rcnn": "taxocaps.nn.sequence.rcnn:RCNN",
        "xml-cnn": "taxocaps.nn.sequence.xml_cnn:XMLCNN",
        "bi-blosan": "taxocaps.nn.sequence.bi_blosan:BiBloSAN",
        "sgm": "taxocaps.nn.sequence.sgm:SGM",
        "vdcnn": "taxocaps.nn.sequence.vdcnn:VDCNN",
        "capsule-text": "taxocaps.nn.sequence.capsule_text:CapsuleText",
    },
)
"""The classes of the networks by `network.kind`; other packages add theirs to the entry points `taxocaps.networks`."""
