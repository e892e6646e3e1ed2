/**
 * Reads vehicle prices of FIPE from the API v2 of parallelum: reference months, brands, models, years, price. `judgeVehicle` is the pure
 * function from an answer to a verdict.
 *
 * The service allows 500 requests a day without a token, so the pipeline keeps brands, models and years for each reference month.
 */
import { createHash } from 'node:crypto'
import {
  callProvider,
  type Duration,
  judgeAnswer,
  localized,
  meaningOfStatus,
  type ProviderAnswer,
  type ProviderFacts,
  type ProviderVerdict,
  unwrapVerdict,
  uselessAnswer,
} from 'retoma'
import { readAmount } from '../price-pages/money-text.ts'
import { fields, list, parsed, textOrNull, word } from './json-fields.ts'
import type { VehicleEntry, VehiclePrice, VehicleProvider } from './types.ts'

export interface FipeOptions {
  baseUrl: string
  token?: string | undefined
  timeout?: Duration | undefined
}

export function fipeProvider({ baseUrl, token, timeout }: FipeOptions): VehicleProvider {
  const ask = async <T>(
    path: readonly string[],
    reference: string | null,
    read: (body: unknown) => T | null,
    signal: AbortSignal,
  ): Promise<T> => {
    const query = reference === null ? '' : `?${new URLSearchParams({ reference })}`
    const target = `/${path.map(encodeURIComponent).join('/')}${query}`
    const headers = { accept: 'application/json', ...(token === undefined ? {} : { 'x-subscription-token': token }) }
    const answer = await callProvider({ baseUrl, path: target, headers, timeout }, signal)
    const verdict = judgeVehicle(answer, read, token)
    // The list of the months is the same for every vehicle: if the provider does not have the list, the address is wrong for all quotes.
    const isForAll = verdict.is === 'item' && reference === null
    return unwrapVerdict(isForAll ? { ...verdict, is: 'stop' } : verdict, 'pt')
  }
  return {
    simulated: false,
    source: createHash('sha256').update(baseUrl.replace(/\/+$/, '')).digest('base64url').slice(0, 22),
    references: signal => ask(['references'], null, readEntries, signal),
    brands: (type, reference, signal) => ask([type, 'brands'], reference, readEntries, signal),
    models: (type, brand, reference, signal) => ask([type, 'brands', brand, 'models'], reference, readEntries, signal),
    years: (type, brand, model, reference, signal) =>
      ask([type, 'brands', brand, 'models', model, 'years'], reference, readEntries, signal),
    price: (type, brand, model, year, reference, signal) =>
      ask([type, 'brands', brand, 'models', model, 'years', year], reference, readVehicle, signal),
  }
}

/** `read` returns null for an answer of another form. */
export function judgeVehicle<T>(
  answer: ProviderAnswer,
  read: (body: unknown) => T | null,
  token?: string,
): ProviderVerdict<T> {
  const service: ProviderFacts = { name: 'FIPE', setting: 'FIPE_BASE_URL', secrets: [token] }
  if ('failure' in answer) return judgeAnswer(answer, service)
  const { status } = answer
  const body = parsed(answer.body)
  const error = fields(body)?.error ?? fields(body)?.message
  const isSuccess = status >= 200 && status < 300
  if (!isSuccess || (error !== undefined && error !== null)) {
    const words = word(error) || word(fields(error)?.message) || (body === undefined ? answer.body : '')
    const code = isSuccess ? (/limit|quota|too many/i.test(words) ? 429 : 500) : status
    const problem = judgeAnswer(answer, service, { status: code, meaning: meaningOfStatus(code), words })
    // FIPE refuses the calls beyond those of a day until the next day. Products of the same batch ask nothing of FIPE: no batch is paused.
    return problem.is === 'wait' ? { ...problem, neverStops: true } : problem
  }
  const value = body === undefined ? null : read(body)
  return value === null
    ? uselessAnswer(service, localized('it is empty, or has another form', 'está vazia, ou tem outra forma'))
    : { is: 'ok', value }
}

const mostEntries = 20_000

/**
 * A list of `{ code, name }`; reference months have `month` instead of `name`. null: the list has no entry. No list of FIPE is empty: FIPE
 * names a month before its brands, and a proxy may answer with an empty list.
 */
export function readEntries(body: unknown): VehicleEntry[] | null {
  if (!Array.isArray(body)) return null
  const entries = list(body)
    .slice(0, mostEntries)
    .flatMap(given => {
      const each = fields(given)
      const [code, name] = [textOrNull(each?.code, 100), textOrNull(each?.name ?? each?.month, 300)]
      return code === null || name === null ? [] : [{ code, name }]
    })
  return entries.length === 0 ? null : entries
}

export function readVehicle(body: unknown): VehiclePrice | null {
  const each = fields(body)
  const price = readAmount(word(each?.price))
  const modelYear = Number(word(each?.modelYear))
  const [brand, model] = [textOrNull(each?.brand), textOrNull(each?.model)]
  if (price === null || brand === null || model === null || !Number.isInteger(modelYear)) return null
  return {
    brand,
    model,
    modelYear,
    fuel: textOrNull(each?.fuel) ?? '',
    codeFipe: textOrNull(each?.codeFipe) ?? '',
    price,
    referenceMonth: textOrNull(each?.referenceMonth) ?? '',
  }
}
