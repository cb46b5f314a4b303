"""What users see: tables, pictures of graphs and runs, the progress bar, the gallery."""
