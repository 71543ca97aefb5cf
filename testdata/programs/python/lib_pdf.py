# A PDF is made, read, split and joined: reportlab, pypdf.
from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table
from reportlab.lib.styles import getSampleStyleSheet

page = canvas.Canvas("a.pdf", pagesize=A4)
page.drawString(100, 700, "Total: 99.50")
page.showPage()
pdfmetrics.registerFont(TTFont("noto", "/usr/share/fonts/cloche/NotoSansSC-Regular.ttf"))
page.setFont("noto", 12)
page.drawString(100, 700, "发票 second page")
page.save()
reader = PdfReader("a.pdf")
assert len(reader.pages) == 2
assert reader.pages[0].extract_text().strip() == "Total: 99.50"
assert "发票" in reader.pages[1].extract_text()

writer = PdfWriter()
writer.add_page(reader.pages[1])
writer.write("b.pdf")
assert len(PdfReader("b.pdf").pages) == 1

styles = getSampleStyleSheet()
SimpleDocTemplate("c.pdf").build([Paragraph("Report", styles["Title"]), Table([["a", 1], ["b", 2]])])
assert "Report" in PdfReader("c.pdf").pages[0].extract_text()
