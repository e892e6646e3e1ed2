/** Reads XML as events with htmlparser2, which expands no entities of a document and has no recursion. */
import { Parser } from 'htmlparser2'
import type { Zip } from './zip.ts'

export interface XmlHandlers {
  /** `tag` without its prefix. */
  open?: (tag: string, attributes: Record<string, string>) => void
  text?: (text: string) => void
  close?: (tag: string) => void
}

/** Some programs write every tag with a prefix. */
const plain = (tag: string): string => tag.slice(tag.indexOf(':') + 1)

export function xmlParser({ open, text, close }: XmlHandlers): Parser {
  return new Parser(
    {
      onopentag: (tag, attributes) => open?.(plain(tag), attributes),
      ontext: given => text?.(given),
      onclosetag: tag => close?.(plain(tag)),
    },
    { xmlMode: true },
  )
}

/** Reads an entry of a ZIP. */
export async function readXml(zip: Zip, name: string, handlers: XmlHandlers): Promise<void> {
  const parser = xmlParser(handlers)
  for await (const chunk of zip.text(name)) parser.write(chunk)
  parser.end()
}
