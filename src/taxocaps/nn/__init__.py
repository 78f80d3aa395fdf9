"""Networks: tensors in, tensors out; nothing here knows of files, words or taxonomies. `networks.py` lists them."""
