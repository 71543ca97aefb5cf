# Pillow draws, filters, and saves in the formats that it has; for JPEG it says that it has not.
from PIL import Image, ImageDraw, ImageFilter, ImageFont

picture = Image.new("RGB", (60, 40), "white")
draw = ImageDraw.Draw(picture)
draw.rectangle((5, 5, 20, 20), fill="red")
draw.text((25, 5), "hi", fill="black")
for name in ("a.png", "a.gif", "a.bmp", "a.tiff"):
    picture.save(name)
    with Image.open(name) as back:
        assert back.size == (60, 40)
        assert back.convert("RGB").getpixel((10, 10)) == (255, 0, 0)
assert picture.filter(ImageFilter.BLUR).resize((30, 20)).rotate(90, expand=True).size == (20, 30)
assert picture.convert("L").getextrema()[0] < 80

# TrueType text, with the numbers that FreeType gives elsewhere; fonts of other machines have stand-ins.
font = ImageFont.truetype("DejaVuSans.ttf", 20)
assert font.getname() == ("DejaVu Sans", "Book") and font.getmetrics() == (19, 5)
assert font.getbbox("Ag") == (0, 4, 27, 23) and font.getlength("Ag") == 27
assert font.getbbox("Ag", stroke_width=2) == (-2, 2, 29, 25) and font.getbbox(" ") == (0, 19, 6, 19)
sheet = Image.new("RGB", (200, 100), "white")
draw = ImageDraw.Draw(sheet)
for row, (name, text) in enumerate([("arial.ttf", "Größe"), ("simhei.ttf", "中文"), ("DejaVuSans-Bold.ttf", "中文 too")]):
    box = draw.textbbox((5, 5 + 30 * row), text, font=ImageFont.truetype(name, 20))
    draw.text((5, 5 + 30 * row), text, font=ImageFont.truetype(name, 20), fill="blue", stroke_width=1)
    drawn = sheet.crop((0, 30 * row, 200, 30 * row + 30)).convert("L").point(lambda p: 255 * (p < 200)).getbbox()
    assert drawn is not None and drawn[2] - drawn[0] >= (box[2] - box[0]) * 0.8, (name, drawn, box)
draw.multiline_text((100, 5), "two\nlines", font=ImageFont.load_default(14), align="center", anchor="ma")
try:
    ImageFont.truetype("no-such-font.ttf", 10)
except OSError as e:
    assert "cannot open resource" in str(e)

try:
    picture.save("a.jpg")
except OSError as e:
    assert "jpeg not available" in str(e)
else:
    with Image.open("a.jpg") as back:
        assert back.size == (60, 40)
