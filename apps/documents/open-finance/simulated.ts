/**
 * Simulates Pluggy without keys: three accounts of a person in Brazil, with 24 months of transactions. Everything follows from the id of
 * the item and from the instant, so that a second sync finds the same transactions, and each day brings some more.
 *
 * The balance of an account is the sum of all its transactions since `firstMonth`, also of those that are too old for the list.
 */
import { createHash } from 'node:crypto'
import { amountOf } from './decimal.ts'
import { unknownItem } from './problem.ts'
import type { BankAccount, BankItem, BankProvider, BankTransaction, PageRequest, TransactionPage } from './types.ts'

/** Waits as long as a real service takes; a test passes a function that does not wait. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>

const pageSize = 100
const listedMonths = 24
const institution = 'Banco Simulado'

/** The item of a user. No other user has the item, and no other item exists but those that show a problem. */
const itemOf = (user: string): string => `simulado-${hashOf('item', user).slice(0, 32)}`

/** Ids of items that show a problem: `login-error…` and `waiting-user…`. undefined: the user has no such item. */
const statusOf = (id: string, user: string): { status: string; detail: string } | undefined => {
  if (id.startsWith('login-error')) return { status: 'LOGIN_ERROR', detail: 'INVALID_CREDENTIALS' }
  if (id.startsWith('waiting-user')) return { status: 'WAITING_USER_INPUT', detail: 'WAITING_USER_INPUT' }
  return id === itemOf(user) ? { status: 'UPDATED', detail: 'SUCCESS' } : undefined
}

export function simulatedPluggy(pause: Pause, now: () => Date): BankProvider {
  return {
    simulated: true,
    itemOf,
    async item(id, user, signal): Promise<BankItem> {
      await pause(150, signal)
      const status = statusOf(id, user)
      if (status === undefined) throw unknownItem()
      return { id, institution, ...status }
    },
    async accounts(item, signal) {
      await pause(200, signal)
      return accountsOf(item, now())
    },
    async transactions(request, signal) {
      await pause(300, signal)
      return pageOf(request, now())
    },
  }
}

type Kind = 'checking' | 'savings' | 'card'

const idOf = (item: string, kind: Kind) => uuidOf(item, 'account', kind)

function accountsOf(item: string, now: Date): BankAccount[] {
  const ledger = ledgerOf(item, now)
  const account = (kind: Kind, name: string, type: string, subtype: string): BankAccount => ({
    id: idOf(item, kind),
    name,
    type,
    subtype,
    lastDigits: String(1000 + (Number.parseInt(hashOf(item, kind).slice(0, 6), 16) % 9000)),
    currency: 'BRL',
    balance: amountOf(
      opening[kind] + ledger.filter(each => each.kind === kind).reduce((sum, { cents }) => sum + cents, 0),
    ),
  })
  return [
    account('checking', 'Conta corrente', 'BANK', 'CHECKING_ACCOUNT'),
    account('savings', 'Poupança', 'BANK', 'SAVINGS_ACCOUNT'),
    account('card', 'Cartão Platinum', 'CREDIT', 'CREDIT_CARD'),
  ]
}

function pageOf({ item, account, from, place }: PageRequest, now: Date): TransactionPage {
  const kind = kinds.find(each => idOf(item, each) === account)
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - listedMonths, now.getUTCDate()))
  const since = new Date(Math.max(first.getTime(), Date.parse(`${from}T00:00:00Z`)))
  const listed = ledgerOf(item, now).filter(each => each.kind === kind && each.at >= since)
  const start = place?.by === 'cursor' ? Number(place.query) : 0
  const end = start + pageSize
  return {
    transactions: listed.slice(start, end).map(each => transactionOf(item, each, now)),
    next: end < listed.length ? { by: 'cursor', query: String(end) } : null,
    total: null,
  }
}

/** A movement. `cents`: its effect on the balance; a purchase by card makes the balance of the card larger. */
interface Movement {
  kind: Kind
  at: Date
  description: string
  category: string
  categoryId: string
  cents: number
  n: number
}

const kinds: readonly Kind[] = ['checking', 'savings', 'card']
const opening: Readonly<Record<Kind, number>> = { checking: 184_530, savings: 520_000, card: 0 }
const firstMonth = Date.UTC(2023, 0, 1)

/** All movements until now, the oldest first. */
function ledgerOf(item: string, now: Date): Movement[] {
  const listed = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - listedMonths, 1)
  const start = new Date(Math.min(firstMonth, listed))
  const found: Movement[] = []
  let bill = 0
  for (let month = start; month <= now; month = addMonth(month)) {
    const movements = monthOf(item, month, bill)
    bill = movements.filter(each => each.kind === 'card' && each.cents > 0).reduce((sum, { cents }) => sum + cents, 0)
    found.push(...movements.filter(each => each.at <= now))
  }
  return found.sort((a, b) => a.at.getTime() - b.at.getTime() || a.n - b.n)
}

const addMonth = (month: Date) => new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1))

interface Shop {
  name: string
  category: string
  id: string
  /** Reais. */
  least: number
  most: number
}

const shop = (name: string, category: string, id: string, least: number, most: number): Shop => ({
  name,
  category,
  id,
  least,
  most,
})

const cardShops: readonly Shop[] = [
  shop('IFOOD *RESTAURANTE', 'Food delivery', '11020000', 28, 110),
  shop('UBER *TRIP', 'Taxi and ride-hailing', '19010000', 9, 48),
  shop('99APP *99APP', 'Taxi and ride-hailing', '19010000', 8, 42),
  shop('PAO DE ACUCAR', 'Groceries', '10000000', 60, 380),
  shop('CARREFOUR HIPER', 'Groceries', '10000000', 90, 520),
  shop('HORTIFRUTI NATURAL', 'Groceries', '10000000', 25, 140),
  shop('DROGASIL', 'Pharmacy', '18020000', 15, 180),
  shop('DROGA RAIA', 'Pharmacy', '18020000', 15, 160),
  shop('POSTO SHELL BR', 'Gas stations', '19050000', 90, 280),
  shop('PADARIA BELLA VISTA', 'Eating out', '11010000', 9, 55),
  shop('OUTBACK STEAKHOUSE', 'Eating out', '11010000', 110, 320),
  shop('LOJAS RENNER', 'Clothing', '08020000', 60, 390),
  shop('MERCADOLIVRE', 'Online shopping', '08010000', 35, 420),
  shop('AMAZON BR', 'Online shopping', '08010000', 25, 360),
  shop('CINEMARK', 'Cinema, theater and concerts', '12030000', 32, 120),
  shop('LEROY MERLIN', 'Houseware', '08060000', 45, 410),
]

const subscriptions: readonly { name: string; cents: number; day: number }[] = [
  { name: 'NETFLIX.COM', cents: 4_490, day: 8 },
  { name: 'SPOTIFY BR', cents: 2_190, day: 12 },
  { name: 'SMART FIT', cents: 12_990, day: 3 },
]

const people = [
  'MARIA APARECIDA SOUZA',
  'JOAO PEDRO LIMA',
  'ANA CLARA RIBEIRO',
  'CARLOS EDUARDO ALVES',
  'FERNANDA COSTA',
]

/** `bill`: the purchases of the month before, in cents. */
function monthOf(item: string, month: Date, bill: number): Movement[] {
  const chance = chanceOf(item, month.toISOString().slice(0, 7))
  const days = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0)).getUTCDate()
  const found: Movement[] = []
  const move = (kind: Kind, day: number, about: readonly [string, string, string], cents: number) => {
    const [description, category, categoryId] = about
    // Between 8 and 22 h in Brasília.
    const minutes = 11 * 60 + chance.whole(0, 13 * 60)
    const at = new Date(month.getTime() + ((Math.min(day, days) - 1) * 1440 + minutes) * 60_000)
    found.push({ kind, at, description, category, categoryId, cents, n: found.length })
  }
  const salary = 712_000 + (month.getUTCFullYear() - 2023) * 38_000
  move('checking', 5, ['TED SALARIO EMPRESA EXEMPLO LTDA', 'Salary', '01010000'], salary)
  if (month.getUTCMonth() === 10 || month.getUTCMonth() === 11)
    move('checking', 20, ['TED 13O SALARIO EMPRESA EXEMPLO LTDA', 'Salary', '01010000'], Math.round(salary / 2))
  move('checking', 10, ['PAG BOLETO ALUGUEL IMOBILIARIA CENTRAL', 'Rent', '17010000'], -185_000)
  move('checking', 10, ['PAG BOLETO CONDOMINIO ED PRIMAVERA', 'Housing', '17000000'], -chance.whole(58_000, 69_000))
  move('checking', 14, ['DEB AUT ENEL DISTRIBUICAO', 'Electricity', '17020001'], -chance.whole(12_000, 29_000))
  move('checking', 16, ['DEB AUT SABESP', 'Water', '17020002'], -chance.whole(6_000, 12_500))
  move('checking', 18, ['DEB AUT VIVO FIBRA', 'Internet', '07010003'], -11_990)
  if (bill > 0) {
    move('checking', 15, ['PAGAMENTO FATURA CARTAO', 'Credit card payment', '05100000'], -bill)
    move('card', 15, ['PAGAMENTO RECEBIDO', 'Credit card payment', '05100000'], -bill)
  }
  move('checking', 6, ['TRANSF PARA POUPANCA', 'Same person transfer', '04000000'], -40_000)
  move('savings', 6, ['TRANSF DA CONTA CORRENTE', 'Same person transfer', '04000000'], 40_000)
  move(
    'savings',
    1,
    ['RENDIMENTO POUPANCA', 'Proceeds interests and dividends', '03060000'],
    chance.whole(2_400, 6_200),
  )
  for (let left = chance.whole(6, 11); left > 0; left--) {
    const isIn = chance.next() < 0.3
    const name = chance.pick(people)
    const cents = chance.whole(1_500, 24_000)
    move(
      'checking',
      chance.whole(1, days),
      [isIn ? `PIX RECEBIDO ${name}` : `PIX ENVIADO ${name}`, 'Transfer - PIX', '05070000'],
      isIn ? cents : -cents,
    )
  }
  for (const { name, cents, day } of subscriptions) move('card', day, [name, 'Digital services', '09000000'], cents)
  for (let left = chance.whole(17, 27); left > 0; left--) {
    const { name, category, id, least, most } = chance.pick(cardShops)
    move('card', chance.whole(1, days), [name, category, id], chance.whole(least * 100, most * 100))
  }
  return found
}

const twoDays = 2 * 86_400_000

function transactionOf(item: string, { kind, at, n, cents, ...about }: Movement, now: Date): BankTransaction {
  const isPending = kind === 'card' && now.getTime() - at.getTime() < twoDays
  const isOut = kind === 'card' ? cents > 0 : cents < 0
  return {
    id: uuidOf(item, kind, at.toISOString().slice(0, 7), String(n)),
    occurredAt: at,
    day: new Date(at.getTime() - 3 * 3_600_000).toISOString().slice(0, 10),
    description: about.description,
    amount: amountOf(cents),
    currency: 'BRL',
    type: isOut ? 'DEBIT' : 'CREDIT',
    status: isPending ? 'PENDING' : 'POSTED',
    category: about.category,
    categoryId: about.categoryId,
  }
}

const hashOf = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex')

const uuidOf = (...parts: readonly string[]): string =>
  hashOf(...parts).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')

/** Numbers that look like chance and are the same for the same texts: xorshift on 32 bits, from their hash. */
function chanceOf(...seed: readonly string[]) {
  let state = Number.parseInt(hashOf(...seed).slice(0, 8), 16) || 1
  const next = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return { next, whole, pick: <T>(from: readonly T[]): T => from[whole(0, from.length - 1)]! }
}
