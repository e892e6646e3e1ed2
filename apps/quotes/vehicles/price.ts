/**
 * Finds the FIPE price of a vehicle: reference month, brand, model, year, price. Every answer is kept in quotes.fipe for its reference month,
 * so that a thousand cars cost a few requests: each list is asked once, by one worker, while the others wait for the answer.
 *
 * Invariant: no list and no price of a month is asked again after its answer is written. An empty list is not written: a kept empty list
 * would leave every vehicle of the month without a price.
 */
import { type Engine, hours, isNonRetryable, minutes, retryWhileDatabaseAway } from 'retoma'
import type { Analysis, JsonValue, VehicleEntry, VehiclePrice, VehicleProvider } from '../providers/types.ts'
import { leastScore, matchVehicle, matchYear, type VehicleMatch } from '../providers/vehicle-match.ts'
import { readFipe, writeFipe } from '../store/fipe.ts'
import type { TurnOwner } from '../store/turns.ts'
import { withTurn } from '../turns.ts'

type Vehicle = Extract<Analysis, { kind: 'vehicle' }>

export interface VehicleLookup {
  engine: Engine
  /** The attempt that looks. */
  owner: TurnOwner
  provider: VehicleProvider
  /** Reports progress: a lookup that waits for turns is not stuck. */
  progress(): void
  /** Sends one request to the provider, within its limits. */
  ask<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T>
  signal: AbortSignal
}

/** `price: null`: FIPE does not have the vehicle, for the reason. */
export type VehicleFound = {
  /** The worst score of brand and model. */
  score: number
  brand: string | null
  model: string | null
  /** The analysis names no year: the price is that of a new vehicle, or of the newest year. */
  isYearUnknown: boolean
} & ({ price: VehiclePrice; reason: null } | { price: null; reason: string })

/** FIPE publishes a month on its first days; a list of the months is good for some hours. */
const monthsFor = hours(6)
/** Longer than a request. If the process dies in the middle, another worker asks after this time, or as soon as the job runs again. */
const longestTurn = minutes(2)
/** The code of a new vehicle begins with this number. */
const newYear = 32_000

/** A request that FIPE refuses for good is an answer about this vehicle: there is no price, for the reason in the words of FIPE. */
export async function findVehicle(look: VehicleLookup, vehicle: Vehicle): Promise<VehicleFound> {
  const matched: Matched = {}
  try {
    return await lookUp(look, vehicle, matched)
  } catch (error) {
    if (!isNonRetryable(error)) throw error
    return nothing((error as Error).message, matched.brand, matched.model)
  }
}

/** The matches so far. */
interface Matched {
  brand?: VehicleMatch
  model?: VehicleMatch
}

async function lookUp(look: VehicleLookup, vehicle: Vehicle, matched: Matched): Promise<VehicleFound> {
  const { provider } = look
  const { vehicleType: type } = vehicle
  const months = await kept(look, '', 'references', monthsFor / 1000, signal => provider.references(signal))
  const month = months[0]?.code
  if (month === undefined) return nothing('a FIPE não informou nenhum mês de referência')
  const brands = await kept(look, month, `${type}/brands`, null, signal => provider.brands(type, month, signal))
  const [brand] = matchVehicle(vehicle.brand, brands)
  if (brand === undefined || brand.score < leastScore) return nothing(`a FIPE não tem a marca "${vehicle.brand}"`)
  matched.brand = brand
  const ofBrand = `${type}/brands/${brand.code}/models`
  const models = await kept(look, month, ofBrand, null, signal => provider.models(type, brand.code, month, signal))
  const [model] = matchVehicle(vehicle.model, models)
  if (model === undefined || model.score < leastScore)
    return nothing(`a FIPE não tem o modelo "${vehicle.model}" da marca ${brand.name}`, brand)
  matched.model = model
  const ofModel = `${ofBrand}/${model.code}/years`
  const years = await kept(look, month, ofModel, null, signal =>
    provider.years(type, brand.code, model.code, month, signal),
  )
  const year = matchYear(vehicle, years)
  if (year === null) return nothing(noYear(vehicle, model, years), brand, model)
  const price = await kept(look, month, `${ofModel}/${year.code}`, null, signal =>
    provider.price(type, brand.code, model.code, year.code, month, signal),
  )
  return { ...seen(brand, model), isYearUnknown: vehicle.year === null, price, reason: null }
}

const seen = (brand?: VehicleMatch, model?: VehicleMatch) => ({
  brand: brand?.name ?? null,
  model: model?.name ?? null,
  score: brand === undefined ? 0 : Math.min(brand.score, model?.score ?? 0),
})

const nothing = (reason: string, brand?: VehicleMatch, model?: VehicleMatch): VehicleFound => ({
  ...seen(brand, model),
  isYearUnknown: false,
  price: null,
  reason,
})

const yearIn = ({ code }: VehicleEntry) => Number.parseInt(code, 10)

function noYear({ year }: Vehicle, model: VehicleEntry, years: readonly VehicleEntry[]): string {
  const known = years.map(yearIn).filter(each => each < newYear)
  const there = known.length === 0 ? '' : ` (tem de ${Math.min(...known)} a ${Math.max(...known)})`
  return `a FIPE não tem o ano ${year ?? 'zero km'} para ${model.name}${there}`
}

/** The kept answer; otherwise the provider's answer, which is kept. `seconds`: how long the answer is good; null: for ever. */
async function kept<T extends VehicleEntry[] | VehiclePrice>(
  { engine, owner, provider: { source }, ask, progress, signal }: VehicleLookup,
  month: string,
  path: string,
  goodFor: number | null,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const patiently = <R>(work: () => Promise<R>) => retryWhileDatabaseAway(engine, work, signal)
  const key = { source, reference: month, path }
  const read = async () => {
    const found = await patiently(() => readFipe(engine, key, goodFor) as Promise<JsonValue | undefined>)
    return isEmptyList(found) ? undefined : found
  }
  const before = await read()
  if (before !== undefined) return before as unknown as T
  const turn = { limit: 1, owner, longest: longestTurn, signal }
  return withTurn(engine, `fipe:${source}:${month}/${path}`.slice(0, 300), turn, async () => {
    progress()
    const meanwhile = await read()
    if (meanwhile !== undefined) return meanwhile as unknown as T
    const answer = await ask(request)
    if (!isEmptyList(answer)) await patiently(() => writeFipe(engine, key, answer))
    return answer
  })
}

const isEmptyList = (answer: unknown): boolean => Array.isArray(answer) && answer.length === 0
