/** A drawn image, to see a snap without a file of one's own: hills under a sun. */

const [width, height] = [640, 480]

export async function sampleImage(): Promise<File> {
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  const drawing = canvas.getContext('2d')!
  const sky = drawing.createLinearGradient(0, 0, 0, height)
  sky.addColorStop(0, '#38bdf8')
  sky.addColorStop(1, '#fef3c7')
  drawing.fillStyle = sky
  drawing.fillRect(0, 0, width, height)
  drawing.fillStyle = '#f59e0b'
  drawing.beginPath()
  drawing.arc(480, 120, 56, 0, 2 * Math.PI)
  drawing.fill()
  for (const [colour, top, wave] of [
    ['#15803d', 300, 90],
    ['#166534', 370, 60],
  ] as const) {
    drawing.fillStyle = colour
    drawing.beginPath()
    drawing.moveTo(0, height)
    for (let x = 0; x <= width; x += 8) drawing.lineTo(x, top - Math.sin(x / wave) * (wave / 2))
    drawing.lineTo(width, height)
    drawing.fill()
  }
  const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, 'image/png'))
  return new File([blob!], 'paisagem-exemplo.png', { type: 'image/png' })
}
