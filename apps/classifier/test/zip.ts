/** Reads the files of a ZIP in memory, for tests of workbooks. */
import { inflateRawSync } from 'node:zlib'

export function filesIn(zip: Uint8Array): Map<string, string> {
  const bytes = Buffer.from(zip)
  const files = new Map<string, string>()
  const end = bytes.lastIndexOf(Buffer.from('PK\u0005\u0006'))
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map(offset => bytes.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ]
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength)
    const local = bytes.readUInt32LE(at + 42)
    const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
    const packed = bytes.subarray(from, from + bytes.readUInt32LE(at + 20))
    files.set(name, (bytes.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed)).toString('utf8'))
    at += 46 + nameLength + extraLength + commentLength
  }
  return files
}
