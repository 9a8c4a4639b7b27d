"""The interactive report: one HTML file that needs nothing else, neither a network nor another file.

content.py              what a report is made of
roofline.py, kernels.py, curves.py, flop_sweep.py, generations.py   one chart each, as plotly traces
tables.py, kernel_table.py, sections.py   the rest of the page, as HTML
page.py                 the file: page.html, style.css, the scripts, plotly and the traces in one
"""
