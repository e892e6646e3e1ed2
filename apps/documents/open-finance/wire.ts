/** Turns bank data into JSON for HTTP: money is a text with the currency beside it. */
import { type Language, type LocalizedText, localized } from 'retoma'
import { z } from 'zod'
import { reasonOfJob } from '../job-reason.ts'
import { statuses } from '../status.ts'
import type { AccountRow, ItemRow, TotalRow, TransactionRow } from '../store/bank-data.ts'
import type { SyncRow } from '../store/bank-syncs.ts'

const count = z.number().int()
const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })
const day = z.iso.date().meta({ description: 'the day in Brazil' })
const money = z.string().meta({ description: 'with two decimals, as text' })
export const simulado = z.boolean().meta({ description: 'Pluggy without keys was simulated on this machine' })
export const status = z.enum(statuses)
const user = z.string().meta({ description: 'the user to whom the row belongs' })

export const sync = z
  .object({
    id: z.string(),
    status,
    item_id: z.string().nullable().meta({ description: 'null: all connections of the user' }),
    error_code: z.string().nullable(),
    error_message: z.string().nullable().meta({ description: 'why the sync is FAILED, or why it waits' }),
    needs_user: z.boolean().meta({ description: 'the bank waits for its customer: no further attempt helps' }),
    retry_at: instant.nullable().meta({ description: 'of a sync that waits after an attempt' }),
    attempts: count,
    accounts: count.meta({ description: 'accounts read to the end' }),
    added: count.meta({ description: 'new transactions' }),
    changed: count.meta({ description: 'transactions with a changed value' }),
    removed: count.meta({ description: 'transactions that the bank does not list any more' }),
    user,
    created_at: instant,
    started_at: instant.nullable(),
    updated_at: instant,
    completed_at: instant.nullable(),
    simulado,
  })
  .meta({ id: 'BankSync' })

export const item = z
  .object({
    id: z.string(),
    institution: z.string().nullable(),
    status: z.string().meta({ description: "Pluggy's word, such as UPDATED or LOGIN_ERROR" }),
    status_detail: z.string().nullable(),
    needs_user: z.boolean(),
    checked_at: instant,
    synced_at: instant.nullable().meta({ description: 'the end of the last whole sync' }),
    user,
    simulado,
  })
  .meta({ id: 'BankItem' })

export const account = z
  .object({
    id: z.string(),
    item_id: z.string(),
    institution: z.string().nullable(),
    name: z.string(),
    type: z.string(),
    subtype: z.string().nullable(),
    last_digits: z.string().nullable(),
    balance: money,
    currency: z.string(),
    balance_at: instant,
    synced_to: instant.nullable().meta({ description: 'the newest transaction of the last whole sync' }),
    removed_at: instant.nullable().meta({ description: 'the bank does not list the account any more' }),
    user,
    simulado,
  })
  .meta({ id: 'BankAccount' })

export const transaction = z
  .object({
    id: z.string(),
    account_id: z.string(),
    item_id: z.string(),
    date: instant.meta({ description: 'as the bank gives the instant' }),
    day,
    description: z.string(),
    amount: money.meta({ description: 'as the bank gives the amount; `type` is the direction' }),
    currency: z.string(),
    type: z.enum(['CREDIT', 'DEBIT']),
    status: z.enum(['POSTED', 'PENDING']),
    category: z.string().nullable(),
    category_id: z.string().nullable(),
    created_at: instant,
    updated_at: instant,
    removed_at: instant.nullable().meta({ description: 'the bank does not list the transaction any more' }),
    user,
    simulado,
  })
  .meta({ id: 'BankTransaction' })

const sums = { credit: money, debit: money, count }

export const totals = z
  .object({
    from: day,
    to: day,
    months: z.array(z.object({ month: z.string().meta({ examples: ['2026-11'] }), currency: z.string(), ...sums })),
    categories: z.array(z.object({ category: z.string().nullable(), currency: z.string(), ...sums })),
    items: z.array(z.object({ month: z.string(), category: z.string().nullable(), currency: z.string(), ...sums })),
    simulado: simulado.meta({
      description: 'all sums are of simulated transactions; sums of real and of simulated transactions are never mixed',
    }),
  })
  .meta({ id: 'BankTotals' })

const iso = (at: Date | null) => at?.toISOString() ?? null

const userCodes = ['bank_login_refused', 'bank_waits_for_user']

const waitWords: Readonly<Record<'waiting' | 'stopped', LocalizedText>> = {
  waiting: localized(
    'Pluggy asks for a wait; the sync continues by itself',
    'o Pluggy pede para esperar; a sincronização continua sozinha',
  ),
  stopped: localized(
    'Pluggy refuses the credentials of this server; the sync continues when the administrator has corrected them',
    'o Pluggy recusa as credenciais deste servidor; a sincronização continua quando o administrador as corrigir',
  ),
}

const cancelled = localized('the sync was cancelled', 'a sincronização foi cancelada')

const failureOf = ({ error_type: type, error_code: code, error_message: message }: SyncRow, language: Language) =>
  type === null ? cancelled[language] : reasonOfJob({ type, code, message })

export function syncWire(row: SyncRow, language: Language) {
  const isFailed = row.status === 'FAILED'
  return {
    id: row.id,
    status: row.status,
    item_id: row.item_id,
    error_code: row.error_code,
    error_message: row.pluggy === null ? (isFailed ? failureOf(row, language) : null) : waitWords[row.pluggy][language],
    needs_user: row.error_code !== null && userCodes.includes(row.error_code),
    retry_at: iso(row.waits_until),
    attempts: row.attempts,
    accounts: row.accounts,
    added: row.added,
    changed: row.changed,
    removed: row.removed,
    user: row.user,
    created_at: iso(row.created_at),
    started_at: iso(row.started_at),
    updated_at: iso(row.updated_at),
    completed_at: iso(row.completed_at),
    simulado: row.simulated,
  }
}

export const itemWire = (row: ItemRow, needsUser: boolean) => ({
  id: row.id,
  institution: row.institution,
  status: row.status,
  status_detail: row.status_detail,
  needs_user: needsUser,
  checked_at: iso(row.checked_at),
  synced_at: iso(row.synced_at),
  user: row.user,
  simulado: row.simulated,
})

export const accountWire = (row: AccountRow) => ({
  id: row.id,
  item_id: row.item_id,
  institution: row.institution,
  name: row.name,
  type: row.type,
  subtype: row.subtype,
  last_digits: row.last_digits,
  balance: row.balance,
  currency: row.currency,
  balance_at: iso(row.balance_at),
  synced_to: iso(row.synced_to),
  removed_at: iso(row.removed_at),
  user: row.user,
  simulado: row.simulated,
})

export const transactionWire = (row: TransactionRow) => ({
  id: row.id,
  account_id: row.account_id,
  item_id: row.item_id,
  date: iso(row.occurred_at),
  day: row.day,
  description: row.description,
  amount: row.amount,
  currency: row.currency,
  type: row.type,
  status: row.status,
  category: row.category,
  category_id: row.category_id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  removed_at: iso(row.removed_at),
  user: row.user,
  simulado: row.simulated,
})

interface Sums {
  credit: string
  debit: string
  count: number
}

/** Sums rows with the same month, or the same category, in whole cents. */
function summed<K extends object>(rows: readonly TotalRow[], keyOf: (row: TotalRow) => K): (K & Sums)[] {
  const found = new Map<string, { key: K; credit: bigint; debit: bigint; count: number }>()
  for (const row of rows) {
    const key = keyOf(row)
    const name = JSON.stringify(key)
    const sum = found.get(name) ?? { key, credit: 0n, debit: 0n, count: 0 }
    sum.credit += centsOf(row.credit)
    sum.debit += centsOf(row.debit)
    sum.count += row.count
    found.set(name, sum)
  }
  return [...found.values()].map(({ key, credit, debit, count }) => ({
    ...key,
    credit: textOf(credit),
    debit: textOf(debit),
    count,
  }))
}

/** Of a sum without a sign. */
const centsOf = (amount: string): bigint => BigInt(amount.replace('.', ''))
const textOf = (cents: bigint): string =>
  String(cents)
    .padStart(3, '0')
    .replace(/(\d{2})$/, '.$1')

/** Sums real transactions; if there are none, simulated ones. `isSimulated`: the answer without any transaction. */
export function totalsWire(found: readonly TotalRow[], window: { from: string; to: string }, isSimulated: boolean) {
  const real = found.filter(({ simulated }) => !simulated)
  const rows = real.length > 0 ? real : found
  return {
    ...window,
    months: summed(rows, ({ month, currency }) => ({ month, currency })),
    categories: summed(rows, ({ category, currency }) => ({ category, currency })),
    items: rows.map(({ simulated: _, ...row }) => row),
    simulado: found.length === 0 ? isSimulated : real.length === 0,
  }
}
