# Pillow draws, filters, and saves in the formats that it has; for JPEG it says that it has not.
from PIL import Image, ImageDraw, ImageFilter

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
assert picture.convert("L").getextrema() == (0, 255)
try:
    picture.save("a.jpg")
except OSError as e:
    assert "jpeg not available" in str(e)
else:
    with Image.open("a.jpg") as back:
        assert back.size == (60, 40)
