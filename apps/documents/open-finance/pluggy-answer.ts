/**
 * Classifies the answers of Pluggy and reads items, accounts and transactions from the answers. Pure functions: no bytes of an answer
 * make them throw. Unknown fields are ignored, because the API of Pluggy grows by new fields.
 *
 * A status 429 is a wait until `RateLimit-Reset`: the header `Retry-After` of Pluggy is always 60. A transaction without an id, a date or
 * an amount makes the whole page useless: without the transaction every total would be wrong.
 */
import {
  type AnswerReading,
  type Duration,
  judgeAnswer,
  localized,
  type ProviderAnswer,
  type ProviderFacts,
  type ProviderResponse,
  type ProviderVerdict,
  seconds,
  uselessAnswer,
} from 'retoma'
import { parseExact, readAmount } from './decimal.ts'
import type { BankAccount, BankItem, BankTransaction, PagePlace, TransactionPage } from './types.ts'

export type Fields = Record<string, unknown>

/** `secrets`: no error repeats them. */
const pluggyFacts = (secrets: readonly string[]): ProviderFacts => ({
  name: 'Pluggy',
  setting: 'PLUGGY_BASE_URL',
  secrets,
})

/** The JSON object of an answer, or the problem. `isLogin`: a refusal is about our credentials, and no request can succeed. */
export function judgePluggy(
  answer: ProviderAnswer,
  secrets: readonly string[],
  { isLogin = false }: { isLogin?: boolean } = {},
): ProviderVerdict<Fields> {
  const facts = pluggyFacts(secrets)
  const body = 'failure' in answer ? undefined : fieldsOf(parseExact(answer.body))
  const verdict = judgeAnswer(answer, facts, 'failure' in answer ? {} : readingOf(answer, body, isLogin))
  if (verdict.is !== 'ok') return verdict
  return body === undefined ? useless('it is no JSON object', 'não é um objeto JSON') : { is: 'ok', value: body }
}

/** An error has `code`, `codeDescription` and `message`, and may come with status 200. */
function readingOf(answer: ProviderResponse, body: Fields | undefined, isLogin: boolean): AnswerReading {
  const code = Number(wordOf(body?.code))
  const hasError = answer.status < 300 && code >= 400 && code < 600 && wordOf(body?.message) !== ''
  const status = hasError ? code : answer.status
  const words = [wordOf(body?.codeDescription), wordOf(body?.message)].filter(each => each !== '').join(': ')
  const wait = resetOf(answer)
  return {
    status,
    ...(isLogin && (status === 400 || status === 404) ? { meaning: 'stop' as const } : {}),
    ...(words === '' ? {} : { words }),
    ...(wait === null ? {} : { retryAfter: wait }),
  }
}

/** Seconds until the counter begins anew. */
function resetOf({ header }: ProviderResponse): Duration | null {
  const said = (header('ratelimit-reset') ?? '').trim()
  return /^\d{1,5}$/.test(said) ? seconds(Math.max(Number(said), 1)) : null
}

const useless = (en: string, pt: string) => uselessAnswer(pluggyFacts([]), localized(en, pt))

/** The key in the answer to a login. */
export function readApiKey({ apiKey }: Fields): ProviderVerdict<string> {
  if (/^[\x21-\x7e]{1,8000}$/.test(wordOf(apiKey))) return { is: 'ok', value: wordOf(apiKey) }
  return useless('it has no API key', 'não tem uma chave de API')
}

export function readItem(id: string, body: Fields): ProviderVerdict<BankItem> {
  const status = textOf(body.status, 60)
  if (status === null) return useless('the item has no status', 'o item não tem status')
  const detail = textOf(body.executionStatus, 60)
  return { is: 'ok', value: { id, institution: textOf(fieldsOf(body.connector)?.name, 200), status, detail } }
}

/** `pages`: the number of pages of the list. */
export function readAccounts(body: Fields): ProviderVerdict<{ accounts: BankAccount[]; pages: number }> {
  if (!Array.isArray(body.results)) return useless('it has no list of accounts', 'não tem uma lista de contas')
  const accounts: BankAccount[] = []
  for (const each of body.results.map(fieldsOf)) {
    const id = idOf(each?.id)
    const balance = readAmount(each?.balance)
    if (each === undefined || id === null || balance === null)
      return useless('an account has no id or no balance', 'uma conta não tem id ou não tem saldo')
    accounts.push({
      id,
      name: textOf(each.marketingName, 200) ?? textOf(each.name, 200) ?? id,
      type: textOf(each.type, 40) ?? 'BANK',
      subtype: textOf(each.subtype, 40),
      lastDigits: /\d{1,4}(?=\D*$)/.exec(wordOf(each.number))?.[0] ?? null,
      currency: currencyOf(each.currencyCode) ?? 'BRL',
      balance,
    })
  }
  return { is: 'ok', value: { accounts, pages: wholeOf(body.totalPages) ?? 1 } }
}

interface Asked {
  account: string
  /** Currency of the account. */
  currency: string
}

/** A page of the list by cursor: `next` is the query of the next request, or null. */
export function readCursorPage(body: Fields, asked: Asked & { query: string }): ProviderVerdict<TransactionPage> {
  const read = readTransactions(body, asked)
  if (read.is !== 'ok') return read
  const next = nextQuery(body.next, asked)
  if (next === undefined) return useless('the next page has no usable address', 'a próxima página não tem endereço')
  if (next === asked.query) return useless('the next page is the same page', 'a próxima página é a mesma')
  return {
    is: 'ok',
    value: { transactions: read.value, next: next === null ? null : { by: 'cursor', query: next }, total: null },
  }
}

const longestQuery = 4000

/** `?accountId=…&after=…`, an address with such a query, or a bare cursor. null: the last page. undefined: of no use. */
function nextQuery(value: unknown, { account, query }: { account: string; query: string }): string | null | undefined {
  const next = wordOf(value)
  if (next === '') return null
  if (next.length > longestQuery) return undefined
  const own = new URLSearchParams(query)
  if (!/[?&=]/.test(next.replace(/=+$/, ''))) {
    own.set('after', next)
    return String(own)
  }
  // The address of the host is not used: the key is for a single host.
  const given = next.slice(next.indexOf('?') + 1).split('#')[0]!
  if (!/^[\w.~%!$&'()*+,;=:@/?-]+$/.test(given)) return undefined
  const asked = new URLSearchParams(given).get('accountId')
  if (asked !== null && asked !== account) return undefined
  return asked === null ? `${new URLSearchParams({ accountId: account })}&${given}` : given
}

/** A page of the list by page number: `{ total, totalPages, page, results }`. */
export function readNumberedPage(
  body: Fields,
  asked: Asked & { page: number; pageSize: number },
): ProviderVerdict<TransactionPage> {
  const read = readTransactions(body, asked)
  if (read.is !== 'ok') return read
  const { page, pageSize } = asked
  if ((wholeOf(body.page) ?? page) !== page) return useless('it is another page', 'é outra página')
  const pages = wholeOf(body.totalPages)
  const isLast = pages === null ? read.value.length < pageSize : page >= pages
  const next: PagePlace | null = isLast ? null : { by: 'page', page: page + 1 }
  return { is: 'ok', value: { transactions: read.value, next, total: wholeOf(body.total) } }
}

function readTransactions(body: Fields, asked: Asked): ProviderVerdict<BankTransaction[]> {
  if (!Array.isArray(body.results)) return useless('it has no list of transactions', 'não tem uma lista de transações')
  const found: BankTransaction[] = []
  for (const each of body.results) {
    const read = readTransaction(fieldsOf(each), asked)
    if (typeof read === 'string')
      return useless(`a transaction has no usable ${read}`, `uma transação não tem ${read} utilizável`)
    found.push(read)
  }
  return { is: 'ok', value: found }
}

/** A text: the name of the field that is of no use. */
function readTransaction(each: Fields | undefined, { account, currency }: Asked): BankTransaction | string {
  const id = idOf(each?.id)
  if (each === undefined || id === null) return 'id'
  const owner = wordOf(each.accountId)
  if (owner !== '' && owner !== account) return 'accountId'
  const converted = readAmount(each.amountInAccountCurrency)
  const amount = converted ?? readAmount(each.amount)
  if (amount === null) return 'amount'
  const when = readDate(wordOf(each.date))
  if (when === null) return 'date'
  return {
    id,
    ...when,
    description: textOf(each.description, 500) ?? textOf(each.descriptionRaw, 500) ?? '',
    amount,
    currency: (converted === null ? currencyOf(each.currencyCode) : null) ?? currency,
    type: typeOf(wordOf(each.type), amount),
    status: wordOf(each.status).toUpperCase() === 'PENDING' ? 'PENDING' : 'POSTED',
    category: textOf(each.category, 200),
    categoryId: textOf(each.categoryId, 60),
  }
}

function typeOf(type: string, amount: string): BankTransaction['type'] {
  if (/^(?:credit|debit)$/i.test(type)) return type.toUpperCase() as BankTransaction['type']
  return amount.startsWith('-') ? 'DEBIT' : 'CREDIT'
}

const date = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?)?$/
const dayInBrazil = new Intl.DateTimeFormat('sv-SE', { timeZone: 'America/Sao_Paulo' })

/** Midnight of UTC is a day without a time. */
export function readDate(text: string): { occurredAt: Date; day: string } | null {
  const found = date.exec(text)
  if (found === null) return null
  const [, day = '', time, zone = 'Z'] = found
  const occurredAt = new Date(`${day}T${time ?? '00:00'}${zone}`)
  const year = occurredAt.getUTCFullYear()
  if (!(year >= 1970 && year <= 2200) || !isDay(day)) return null
  const hasTime = occurredAt.getTime() % 86_400_000 !== 0
  return { occurredAt, day: hasTime ? dayInBrazil.format(occurredAt) : occurredAt.toISOString().slice(0, 10) }
}

/** `Date` takes February 30 for March 2. */
const isDay = (day: string): boolean => new Date(`${day}T00:00Z`).toISOString().startsWith(day)

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined

/** `parseExact` makes a text of each number. */
const wordOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const wholeOf = (value: unknown): number | null => (/^\d{1,9}$/.test(wordOf(value)) ? Number(wordOf(value)) : null)

/** Ids of Pluggy are UUIDs; other ids of a list are accepted too. */
const idOf = (value: unknown): string | null => (/^[\w.:-]{1,100}$/.test(wordOf(value)) ? wordOf(value) : null)

const currencyOf = (value: unknown): string | null => (/^[A-Z]{3}$/.test(wordOf(value)) ? wordOf(value) : null)

/** One line without characters that PostgreSQL refuses. */
function textOf(value: unknown, most: number): string | null {
  const text = [...wordOf(value).replace(/[\s\p{C}]+/gu, ' ')].slice(0, most).join('').trim().toWellFormed()
  return text === '' ? null : text
}
