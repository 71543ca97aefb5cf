# Workbooks are written, read back and changed: openpyxl, xlsxwriter, pandas.
import openpyxl
import pandas as pd
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font

frame = pd.DataFrame({"region": ["North", "Süd", "North"], "units": [1, 2, 3], "price": [2.5, 3.0, 5.0]})
frame["total"] = frame["units"] * frame["price"]
with pd.ExcelWriter("out.xlsx", engine="openpyxl") as writer:
    frame.to_excel(writer, sheet_name="data", index=False)
    frame.groupby("region", as_index=False)["total"].sum().to_excel(writer, sheet_name="summary", index=False)
book = openpyxl.load_workbook("out.xlsx")
sheet = book["data"]
sheet["F1"] = "=SUM(D2:D4)"
sheet["A1"].font = Font(bold=True, color="FF0000")
chart = BarChart()
chart.add_data(Reference(sheet, min_col=4, min_row=1, max_row=4), titles_from_data=True)
sheet.add_chart(chart, "H2")
book.save("out.xlsx")
back = openpyxl.load_workbook("out.xlsx")
assert back.sheetnames == ["data", "summary"] and back["data"]["F1"].value == "=SUM(D2:D4)"
assert back["data"]["A1"].font.bold
assert pd.read_excel("out.xlsx", sheet_name="summary").values.tolist() == [["North", 17.5], ["Süd", 6.0]]

with pd.ExcelWriter("chart.xlsx", engine="xlsxwriter") as writer:
    frame.to_excel(writer, sheet_name="S", index=False)
    chart = writer.book.add_chart({"type": "line"})
    chart.add_series({"categories": "=S!$A$2:$A$4", "values": "=S!$D$2:$D$4"})
    writer.sheets["S"].insert_chart("F2", chart)
assert pd.read_excel("chart.xlsx")["total"].sum() == 23.5
