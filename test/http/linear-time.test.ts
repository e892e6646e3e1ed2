/**
 * A parser of text from outside takes time in proportion to the text. Each parser gets 25,000 and then 100,000 characters of the worst
 * kind, and must end within an eighth and then half a second of processor time: a parser that reads the text once needs milliseconds, and the time of
 * a parser that starts again at every character is sixteen times as long for the second text.
 */
import { expect, test } from 'vitest'
import { readHtml, readXmlText } from '../../apps/classifier/extract/markup.ts'
import { readRtf } from '../../apps/classifier/extract/rtf.ts'
import { judge } from '../../apps/classifier/providers/answer.ts'
import { readReply } from '../../apps/classifier/providers/reply.ts'
import { oneLine } from '../../apps/classifier/text.ts'
import { languageOf as documentLanguageOf } from '../../apps/documents/language.ts'
import { parseExact, readAmount } from '../../apps/documents/open-finance/decimal.ts'
import { readDate as readPluggyDate } from '../../apps/documents/open-finance/pluggy-answer.ts'
import { cleanText, folded, storable, wordsOf } from '../../apps/documents/text.ts'
import { readDate, readHour, readInstant, readNumber } from '../../apps/planner/demand/values.ts'
import { decodePage } from '../../apps/quotes/price-pages/charset.ts'
import { parseLenient } from '../../apps/quotes/price-pages/lenient-json.ts'
import { readCurrency, readAmount as readShopAmount } from '../../apps/quotes/price-pages/money-text.ts'
import { collectFacts } from '../../apps/quotes/price-pages/page-facts.ts'
import { readRobots } from '../../apps/quotes/price-pages/robots.ts'
import { findObject } from '../../apps/quotes/providers/json-in-text.ts'
import { checkUser } from '../../src/auth/model/token.ts'
import { printable } from '../../src/cli/output.ts'
import { scrub } from '../../src/cli/scrub-names.ts'
import { isTransactionControl } from '../../src/database/transactions/transaction-control.ts'
import { tellingLine } from '../../src/embedded-postgres/server-errors.ts'
import { othersAtWork } from '../../src/embedded-postgres/start-server.ts'
import { nearest } from '../../src/errors/did-you-mean.ts'
import { readCursor } from '../../src/events/model/event-cursor.ts'
import { quoted, typed } from '../../src/explain/model/sentence-parts.ts'
import { cleanFileName, isFileType } from '../../src/files/model/file.ts'
import { parsePair, parseTable } from '../../src/guards/model/table-name.ts'
import { languageOf } from '../../src/http/request/accept-language.ts'
import { isMultipart } from '../../src/http/request/upload.ts'
import { bearerOf, cookieOf } from '../../src/http/security/bearer-token.ts'
import { clientAddressOf } from '../../src/http/security/client-address.ts'
import { refuseForeignHost, refuseForeignOrigin } from '../../src/http/security/same-origin.ts'
import { judgeWebhookResponse } from '../../src/incidents/model/webhook-response.ts'
import { commonPart } from '../../src/jobs/model/error-fingerprint.ts'
import { prettyLine } from '../../src/lib/logging/log-line.ts'
import { plainAddress } from '../../src/lib/network-address.ts'
import { isSecretName, withoutSecrets } from '../../src/lib/values/redact.ts'
import { encodeStored } from '../../src/lib/values/value-codec.ts'
import { webUrl } from '../../src/settings/setting-checks.ts'

const lengths = [25_000, 100_000]
const msPerCharacter = 500 / 100_000

/** A request whose headers may be anything; the real Headers would refuse some of it before a reader sees it. */
const asking = (name: string, value: string) =>
  ({ url: 'http://127.0.0.1/', headers: { get: (asked: string) => (asked === name ? value : null) } }) as Request

const header =
  (name: string, read: (request: Request) => unknown) =>
  (text: string): unknown =>
    read(asking(name, text))

const about = {
  key: 'sk-secret-of-ours',
  model: 'm',
  categories: ['a', 'b'],
  provider: 'openrouter',
  prices: {},
} as never
const answered = (status: number, body: string) => ({ status, header: () => null, body }) as never

const readers: Record<string, (text: string) => unknown> = {
  'the Bearer header': header('authorization', bearerOf),
  'the Bearer header after its word': header('authorization', request => {
    const given = request.headers.get('authorization')
    return bearerOf(asking('authorization', `Bearer x${given}x`))
  }),
  cookies: header('cookie', request => cookieOf(request, true)),
  'Accept-Language': header('accept-language', languageOf),
  'Content-Type': header('content-type', isMultipart),
  'X-Forwarded-For': header('x-forwarded-for', request => clientAddressOf(request, {}, { trustProxy: 1 })),
  Host: header('host', request => refuseForeignHost(clientAddressOf(request, {}, {}), {})),
  Origin: header('origin', request => refuseForeignOrigin(request, clientAddressOf(request, {}, {}), {})),
  'an address': plainAddress,
  'a cursor': readCursor,
  'the name of a file': cleanFileName,
  'the type of a file': isFileType,
  'the name of a user': checkUser,
  'the name of a kind that does not exist': text => nearest(text, ['classify-document', 'report', 'notify']),
  'a value to be stored': text => encodeStored({ text }, 'input'),
  'a message to be logged': withoutSecrets,
  'the name of a logged fact': isSecretName,
  'a logged line': text =>
    prettyLine(JSON.stringify({ level: 'info', time: '', msg: text, err: { stack: text } }), true),
  'a line for a terminal': printable,
  'a text in a bundle for support': text => scrub({ text }, ['db.example.com']),
  'the cause of a failure': commonPart,
  'a name in an explanation': quoted,
  'a name in a command': typed,
  'a statement of a transaction': isTransactionControl,
  'the name of a table': parseTable,
  'a column and its value': parsePair,
  'the output of PostgreSQL': tellingLine,
  'the output of PostgreSQL about rivals': text => othersAtWork.test(text),
  'an address in a setting': text => webUrl(`http://a/${text}`),
  'Retry-After': text => judgeWebhookResponse(429, text, new Date(0)),
  'an answer of an AI': text => readReply(text, ['invoice', 'contract']),
  'an error of an AI': text => judge(answered(500, text), about),
  'an error of an AI in JSON': text => judge(answered(400, JSON.stringify({ error: { message: text } })), about),
  'a line of an application': oneLine,
  'an HTML file': readHtml,
  'an XML file': readXmlText,
  'an RTF file': text => readRtf(Buffer.from(`{\\rtf1 ${text}`)),
  'an answer of Pluggy': parseExact,
  'an amount of Pluggy': readAmount,
  'a date of Pluggy': readPluggyDate,
  'the language of a document': documentLanguageOf,
  'the words of a document': wordsOf,
  'the text of a document': text => [cleanText(text), folded(text), storable(text)],
  'an object in an answer of an AI': findObject,
  'the bytes of a page of a shop': text => decodePage(Buffer.from(text), text),
  'the JSON of a page of a shop': parseLenient,
  'an amount of a shop': readShopAmount,
  'a currency of a shop': readCurrency,
  'a page of a shop': collectFacts,
  'the robots.txt of a shop': text => readRobots(text, 'RetomaQuotes'),
  'an hour of a table': text => readHour(`9${text}`),
  'an hour range of a table': readHour,
  'a date of a table': readDate,
  'a date with an hour of a table': readInstant,
  'a number of a table': readNumber,
}

/** Pieces that have made one pattern or another begin anew. */
const pieces = [
  ...' \t\n\r/\\"\'`<>[](){}-_.,:;=@%+*0a“❤\0',
  'a+',
  'a-',
  'a.',
  'a@',
  '0.',
  '://',
  'http://',
  'a:a',
  '?key=',
  '&a-',
  'rt_',
  'bearer ',
  'q=0',
  '/*',
  '*/',
  '/**/',
  '*/--*',
  '--\n',
  '""',
  '\\"',
  '\\u0000',
  '```',
  '```json ',
  '{"a":',
  '<think>',
  '</think>',
  'model ',
  'FATAL: ',
  'lock file "',
  'could not remove old lock file "',
  'shared memory block ',
  '(Did you mean ',
  '::ffff:',
]

const hostile = (length: number) =>
  pieces.flatMap(piece => {
    const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
    return [text, `${text}\u0001!`]
  })

test.each(Object.keys(readers))('reading %s takes time in proportion to its length, whatever it holds', name => {
  const read = readers[name]!
  for (const length of lengths)
    for (const text of hostile(length)) {
      const ms = processorTime(() => read(text))
      expect(ms, `${JSON.stringify(text.slice(0, 20))}… of ${text.length} characters`).toBeLessThan(
        length * msPerCharacter,
      )
    }
})

/** In ms, of this process and not of its neighbours. A reader may refuse a text: that is an answer too. */
function processorTime(work: () => unknown): number {
  const before = process.cpuUsage()
  try {
    work()
  } catch {
    // Refused.
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
