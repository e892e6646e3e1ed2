/**
 * Reads vehicle prices of FIPE from the API v2 of parallelum: reference months, brands, models, years, price. `judgeVehicle` is the pure
 * function from an answer to a verdict.
 *
 * The service allows 500 requests a day without a token, so the pipeline keeps brands, models and years for each reference month.
 */
import { readAmount } from '../price-pages/money-text.ts'
import { callService, type Received, withoutSlash } from './service-call.ts'
import type { VehicleEntry, VehiclePrice, VehicleProvider } from './types.ts'
import {
  brokenVerdict,
  fields,
  garbage,
  list,
  parsed,
  refusal,
  type Service,
  textOrNull,
  unwrap,
  usualMeaning,
  type Verdict,
  word,
} from './verdict.ts'

export interface FipeOptions {
  baseUrl: string
  token?: string | undefined
  timeoutMs?: number | undefined
}

export function fipeProvider({ baseUrl, token, timeoutMs }: FipeOptions): VehicleProvider {
  const ask = async <T>(
    path: readonly string[],
    reference: string | null,
    read: (body: unknown) => T | null,
    signal: AbortSignal,
  ): Promise<T> => {
    const query = reference === null ? '' : `?${new URLSearchParams({ reference })}`
    const url = `${withoutSlash(baseUrl)}/${path.map(encodeURIComponent).join('/')}${query}`
    const headers = { accept: 'application/json', ...(token === undefined ? {} : { 'x-subscription-token': token }) }
    return unwrap(judgeVehicle(await callService({ url, headers, timeoutMs }, signal), read, token))
  }
  return {
    simulated: false,
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
export function judgeVehicle<T>(received: Received, read: (body: unknown) => T | null, token?: string): Verdict<T> {
  const service: Service = { name: 'FIPE', setting: 'FIPE_BASE_URL', key: token }
  if ('broken' in received) return brokenVerdict(received, service)
  const { status } = received
  const body = parsed(received.body)
  const error = fields(body)?.error ?? fields(body)?.message
  const isSuccess = status >= 200 && status < 300
  if (!isSuccess || (error !== undefined && error !== null)) {
    const words = word(error) || word(fields(error)?.message) || (body === undefined ? received.body : '')
    const code = isSuccess ? (/limit|quota|too many/i.test(words) ? 429 : 500) : status
    return refusal(received, service, usualMeaning(code), code, words)
  }
  const value = body === undefined ? null : read(body)
  return value === null ? garbage(service.name, 'it has another form', 'tem outra forma') : { is: 'ok', value }
}

const mostEntries = 20_000

/** A list of `{ code, name }`; reference months have `month` instead of `name`. */
export function readEntries(body: unknown): VehicleEntry[] | null {
  if (!Array.isArray(body)) return null
  return list(body)
    .slice(0, mostEntries)
    .flatMap(given => {
      const each = fields(given)
      const [code, name] = [textOrNull(each?.code, 100), textOrNull(each?.name ?? each?.month, 300)]
      return code === null || name === null ? [] : [{ code, name }]
    })
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
