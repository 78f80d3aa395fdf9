"""Label taxonomies: the graph itself, its file formats, and the problems that files can have."""

from taxocaps.taxonomy.formats import TaxonomyFormat
from taxocaps.taxonomy.problems import Edge, Problem
from taxocaps.taxonomy.readers import read_taxonomy, scan_taxonomy
from taxocaps.taxonomy.scan import TaxonomyScan
from taxocaps.taxonomy.skos import SkosLabel
from taxocaps.taxonomy.statistics import TaxonomyStatistics
from taxocaps.taxonomy.tree import VIRTUAL_ROOT, Taxonomy
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
    "read_taxonomy",
    "scan_taxonomy",
    "write_taxonomy",
]
