"""Label taxonomies: the graph, file formats and their problems, random walks and label vectors."""

from taxocaps.taxonomy.problems import Edge, Problem, TaxonomyScan
from taxocaps.taxonomy.readers import TaxonomyFormat, as_taxonomy, read_taxonomy, scan_taxonomy
from taxocaps.taxonomy.skos import SkosLabel
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import VIRTUAL_ROOT, Taxonomy, TaxonomyStatistics
from taxocaps.taxonomy.writers import write_taxonomy

__all__ = [
    "VIRTUAL_ROOT",
    "Edge",
    "Problem",
    "SkosLabel",
    "Taxonomy",
    "TaxonomyFormat",
    "TaxonomyScan",
    "TaxonomyStatistics",
    "Term",
    "as_taxonomy",
    "read_taxonomy",
    "scan_taxonomy",
    "write_taxonomy",
]
