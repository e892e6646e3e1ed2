/**
 * Decodes the name of an entry of a ZIP. A ZIP that does not declare the encoding of its names is from macOS, which writes UTF-8, or from
 * Windows in Brazil, which writes code page 850; yauzl reads such a name as code page 437. Pure.
 */
import type { Entry } from 'yauzl'

/** The characters from 0x80 on. */
const page850 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0'

const isUtf8 = 0x0800
/** The extra field with the name in UTF-8. */
const unicodePath = 0x7075

type Named = Pick<Entry, 'fileName' | 'fileNameRaw' | 'generalPurposeBitFlag' | 'extraFields'>

/** The path with `/`. */
export function zipName({ fileName, fileNameRaw, generalPurposeBitFlag: flags, extraFields }: Named): string {
  if ((flags & isUtf8) !== 0 || extraFields.some(({ id }) => id === unicodePath)) return fileName
  return decoded(fileNameRaw).replaceAll('\\', '/')
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return Array.from(bytes, byte => (byte < 0x80 ? String.fromCharCode(byte) : page850[byte - 0x80]!)).join('')
  }
}
