/**
 * Reads the text of a message: EML with postal-mime, MSG (Outlook) with msgreader. Runs in a separate process (read.ts). Attachments are
 * named and not read: a person sends the attachments as documents of their own.
 */
import { createRequire } from 'node:module'
import PostalMime from 'postal-mime'
import { TextCollector } from './collect.ts'
import type { Parts } from './excerpt.ts'
import { addHtml } from './markup.ts'
import { decode, withWindowsLetters } from './plain.ts'

// A CommonJS module with a default export, which Node and test runners import differently.
const msgreader = createRequire(import.meta.url)('@kenjiuno/msgreader') as typeof import('@kenjiuno/msgreader')

const mostNames = 50

interface Message {
  subject: string | undefined
  from: string | undefined
  to: readonly string[]
  date: string | undefined
  text: string | undefined
  html: string | undefined
  attachments: readonly string[]
}

/** Throws if the bytes are no message, or a part is nested too deep. */
export async function readEml(bytes: Uint8Array): Promise<Parts> {
  const parsed = await PostalMime.parse(bytes, { maxNestingDepth: 50, maxHeadersSize: 1024 * 1024 })
  const shown = (one: { name?: string | undefined; address?: string | undefined } | undefined) =>
    one === undefined ? '' : [one.name, one.address && `<${one.address}>`].filter(Boolean).join(' ')
  return written({
    subject: parsed.subject,
    from: shown(parsed.from),
    to: [...(parsed.to ?? []), ...(parsed.cc ?? [])].map(shown),
    date: parsed.date,
    text: parsed.text,
    html: parsed.html,
    attachments: parsed.attachments.map(({ filename }) => filename ?? 'sem nome'),
  })
}

/** Throws if the bytes are no message of Outlook. */
export function readMsg(bytes: Uint8Array): Parts {
  const data = new msgreader.default(new Uint8Array(bytes).buffer).getFileData()
  if (data.error !== undefined) throw new Error(data.error)
  const decoded = data.html === undefined ? undefined : decode(data.html)
  const html = data.bodyHtml ?? (decoded !== undefined && 'text' in decoded ? decoded.text : undefined)
  return written({
    subject: data.subject,
    from: [data.senderName, data.senderSmtpAddress ?? data.senderEmail].filter(Boolean).join(' '),
    to: (data.recipients ?? []).map(({ name, smtpAddress, email }) =>
      [name, smtpAddress ?? email].filter(Boolean).join(' '),
    ),
    date: data.messageDeliveryTime ?? data.clientSubmitTime,
    text: data.body,
    html,
    attachments: (data.attachments ?? []).map(({ fileName, name }) => fileName ?? name ?? 'sem nome'),
  })
}

function written({ subject, from, to, date, text: plain, html, attachments }: Message): Parts {
  const text = new TextCollector()
  const line = (name: string, value: string | undefined) => {
    const shown = withWindowsLetters(value ?? '')
      .replace(/\s+/g, ' ')
      .trim()
    if (shown !== '') text.add(`${name}: ${shown}\n`)
  }
  line('Assunto', subject)
  line('De', from)
  line('Para', to.slice(0, mostNames).join(', '))
  line('Data', date)
  line('Anexos', attachments.slice(0, mostNames).join(', '))
  text.add('\n')
  // TextDecoder of Node 20 decodes Windows-1252 as ISO-8859-1.
  if (plain?.trim()) text.add(withWindowsLetters(plain))
  else if (html !== undefined) addHtml(withWindowsLetters(html), text)
  return text.parts()
}
