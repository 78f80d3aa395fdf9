"""Figures of merit: true and predicted labels in, numbers out; nothing here knows of models or taxonomies."""
