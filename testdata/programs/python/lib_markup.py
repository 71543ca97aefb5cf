# HTML and XML: lxml, bs4, html5lib, pandas.read_html, defusedxml, xmltodict.
from io import StringIO

import lxml.html
import pandas as pd
import xmltodict
from bs4 import BeautifulSoup
from defusedxml import ElementTree
from lxml import etree

page = "<table><tr><th>Name<th>Qty</tr><tr><td>Apple <b>red</td><td>3</td></tr><tr><td>Größe &amp; Co</td><td>4</table><p><a href='/x?a=1&amp;b=2'>go</a>"
for parser in ("html.parser", "lxml", "html5lib"):
    soup = BeautifulSoup(page, parser)
    assert soup.a["href"] == "/x?a=1&b=2"
    assert "Größe & Co" in [c.get_text(" ", strip=True) for c in soup.find_all("td")]
assert lxml.html.fromstring(page).xpath("count(//td)") == 4
assert pd.read_html(StringIO(page))[0]["Qty"].sum() == 7
root = etree.fromstring("<a><b x='1'>t</b></a>")
assert root.xpath("//b/@x") == ["1"] and etree.tostring(root) == b'<a><b x="1">t</b></a>'
style = etree.XSLT(etree.XML(
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
    '<xsl:template match="/"><c><xsl:value-of select="a/b"/></c></xsl:template></xsl:stylesheet>'
))
assert str(style(root)).strip().endswith("<c>t</c>")
assert ElementTree.fromstring("<a>1</a>").text == "1"
assert xmltodict.parse("<a><b>1</b></a>") == {"a": {"b": "1"}}
