/** A PDF readable for everybody and changeable only for the owner: encrypted with RC4 under an empty password, as many scanners do. */
import { createHash } from 'node:crypto'
import { documentOf, latinText, streamOf, writePdf } from './pdfs.ts'

const padding = Buffer.from('28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A', 'hex')
const md5 = (...parts: Buffer[]) => createHash('md5').update(Buffer.concat(parts)).digest()
const id = Buffer.alloc(16, 7)
/** Only reading is allowed. */
const permissions = -3904

export function ownerLockedPdf(text: string): Buffer {
  const owner = rc4(md5(Buffer.concat([Buffer.from('dono'), padding]).subarray(0, 32)).subarray(0, 5), padding)
  const allowed = Buffer.alloc(4)
  allowed.writeInt32LE(permissions)
  const key = md5(padding, owner, allowed, id).subarray(0, 5)
  // The number and generation of the encrypted object: the content of the first page.
  const ofPage = md5(key, Buffer.from([5, 0, 0, 0, 0])).subarray(0, 10)
  const objects = documentOf([streamOf(rc4(ofPage, Buffer.from(latinText(text), 'latin1')))])
  const hex = (bytes: Buffer) => `<${bytes.toString('hex')}>`
  const lock = `<< /Filter /Standard /V 1 /R 2 /P ${permissions} /O ${hex(owner)} /U ${hex(rc4(key, padding))} >>`
  return writePdf([...objects, lock], { trailer: `/Encrypt ${objects.length + 1} 0 R /ID [${hex(id)} ${hex(id)}]` })
}

/** OpenSSL 3 has no RC4. */
function rc4(key: Buffer, data: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index)
  const swap = (a: number, b: number) => {
    const held = state[a]!
    state[a] = state[b]!
    state[b] = held
  }
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + state[i]! + key[i % key.length]!) % 256
    swap(i, j)
  }
  let i = 0
  let j = 0
  return data.map(byte => {
    i = (i + 1) % 256
    j = (j + state[i]!) % 256
    swap(i, j)
    return byte ^ state[(state[i]! + state[j]!) % 256]!
  }) as Buffer
}
