/**
 * Defines the interface between a sync and the bank data: items, accounts and pages of transactions. The client of Pluggy and the
 * simulated Pluggy implement the interface.
 *
 * A method runs inside `ctx.provider('pluggy', …)`. A method throws `providerWait` and `providerStop` of the engine, an error with
 * `doNotRetry` if another request would end the same way, and an ordinary error for a failed attempt.
 *
 * Invariant: no value, error or cause contains a key. Money is a decimal text with two decimals.
 */

/** A connection of a person with a bank. */
export interface BankItem {
  id: string
  /** The name of the institution. */
  institution: string | null
  /** Pluggy's words: UPDATED, UPDATING, OUTDATED, LOGIN_ERROR, WAITING_USER_INPUT … */
  status: string
  /** `executionStatus` of Pluggy, such as INVALID_CREDENTIALS. */
  detail: string | null
}

export interface BankAccount {
  id: string
  name: string
  /** BANK or CREDIT. */
  type: string
  /** CHECKING_ACCOUNT, SAVINGS_ACCOUNT, CREDIT_CARD … */
  subtype: string | null
  /** The last digits of the number only. */
  lastDigits: string | null
  currency: string
  balance: string
}

export interface BankTransaction {
  id: string
  /** The instant, as the bank gives the instant. */
  occurredAt: Date
  /** The day in Brazil: `2026-11-16`. */
  day: string
  description: string
  /** As Pluggy gives the amount: negative for money that leaves a bank account, positive for a purchase by card. */
  amount: string
  currency: string
  type: 'CREDIT' | 'DEBIT'
  status: 'PENDING' | 'POSTED'
  category: string | null
  categoryId: string | null
}

/** The place of the next page. `query`: the whole query of the next request by cursor. */
export type PagePlace = { by: 'cursor'; query: string } | { by: 'page'; page: number }

export interface PageRequest {
  item: string
  account: string
  /** The currency of the account. */
  currency: string
  /** The first day of the window: `2025-11-16`. */
  from: string
  /** null: the first page. */
  place: PagePlace | null
}

export interface TransactionPage {
  transactions: BankTransaction[]
  /** null: the last page. */
  next: PagePlace | null
  /** All transactions of the window, if the list has page numbers; null by cursor. */
  total: number | null
}

export interface BankProvider {
  readonly simulated: boolean
  /** The item that a sync without an item reads, besides the known items; null: none. */
  itemOf(user: string): string | null
  /** `user`: the user of the sync. */
  item(id: string, user: string, signal: AbortSignal): Promise<BankItem>
  accounts(item: string, signal: AbortSignal): Promise<BankAccount[]>
  transactions(request: PageRequest, signal: AbortSignal): Promise<TransactionPage>
}
