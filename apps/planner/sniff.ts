/** Detects the type of a file by its first bytes. */
import { open } from 'node:fs/promises'

/** The part in which PDF readers look for the header. */
const startBytes = 1024

export interface Start {
  type: 'empty' | 'zip' | 'ole' | 'pdf' | 'gzip' | 'image' | 'text'
  isPdf: boolean
}

export async function startOf(path: string): Promise<Start> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(startBytes), 0, startBytes, 0)
    const type = typeOf(buffer.subarray(0, bytesRead))
    return { type, isPdf: type === 'pdf' }
  } finally {
    await file.close()
  }
}

const begins: readonly (readonly [Start['type'], string])[] = [
  ['zip', 'PK\x03\x04'],
  ['zip', 'PK\x05\x06'],
  ['ole', '\xd0\xcf\x11\xe0'],
  ['gzip', '\x1f\x8b'],
  ['image', '\x89PNG'],
  ['image', '\xff\xd8\xff'],
  ['image', 'GIF8'],
]

function typeOf(start: Buffer): Start['type'] {
  if (start.length === 0) return 'empty'
  const text = start.toString('latin1')
  const found = begins.find(([, magic]) => text.startsWith(magic))
  if (found !== undefined) return found[0]
  return text.includes('%PDF-') ? 'pdf' : 'text'
}
