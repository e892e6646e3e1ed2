/** The time of a photo, from EXIF as cameras write it and as they should not. */
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { takenAtOf } from './taken-at.ts'

async function exifOf(tags: Record<string, string>): Promise<Buffer> {
  const image = sharp({ create: { width: 1, height: 1, channels: 3, background: 'red' } })
  return (await sharp(await image.jpeg().withExif({ IFD2: tags }).toBuffer()).metadata()).exif!
}

test.each([
  [{ DateTimeOriginal: '2024:05:06 07:08:09', OffsetTimeOriginal: '-03:00' }, '2024-05-06T10:08:09.000Z', '-03:00'],
  [{ DateTimeOriginal: '2024:05:06 07:08:09', OffsetTimeOriginal: '+05:30' }, '2024-05-06T01:38:09.000Z', '+05:30'],
  [{ DateTimeOriginal: '2024:05:06 07:08:09' }, '2024-05-06T07:08:09.000Z', null],
  [{ DateTimeOriginal: '2024:05:06 07:08:09', OffsetTimeOriginal: 'lunch' }, '2024-05-06T07:08:09.000Z', null],
  [{ DateTimeDigitized: '2020:02:29 23:59:59' }, '2020-02-29T23:59:59.000Z', null],
])('%j is %s', async (tags, at, offset) => {
  expect(takenAtOf(await exifOf(tags))).toEqual({ at, offset })
})

test.each([{ DateTimeOriginal: '0000:00:00 00:00:00' }, { DateTimeOriginal: 'yesterday' }, { UserComment: 'x' }])(
  '%j says nothing',
  async tags => {
    expect(takenAtOf(await exifOf(tags as Record<string, string>))).toBeNull()
  },
)

test('EXIF that is missing, cut off or nonsense says nothing', async () => {
  const exif = await exifOf({ DateTimeOriginal: '2024:05:06 07:08:09' })
  expect(takenAtOf(undefined)).toBeNull()
  for (let length = 0; length < exif.length; length += 3) takenAtOf(exif.subarray(0, length))
  for (let at = 0; at < exif.length; at++) {
    const spoilt = Buffer.from(exif)
    spoilt[at] = 255
    takenAtOf(spoilt)
  }
  expect(takenAtOf(Buffer.alloc(100))).toBeNull()
})
