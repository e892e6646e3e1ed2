/**
 * Reads the analysis of a description from the object that a model wrote. The model may use other names, other letters and other nesting
 * than the question asks for; a missing part comes from the description. A pure function.
 */

import { fields, textOrNull, word } from './json-fields.ts'
import type { Analysis, AnalysisRequest, VehicleType } from './types.ts'

const longest = 200
const types: readonly (readonly [RegExp, VehicleType])[] = [
  [/moto|motorcycle|scooter/, 'motorcycles'],
  [/caminh|truck|onibus|bus/, 'trucks'],
]

/** null: the object says nothing about the description. */
export function readAnalysis(given: Record<string, unknown>, request: AnalysisRequest): Analysis | null {
  const flat = flattened(given)
  const text = (...names: string[]) => {
    for (const name of names) {
      const found = textOrNull(flat.get(name), longest)
      if (found !== null) return found
    }
    return null
  }
  const brand = text('brand', 'marca', 'fabricante', 'manufacturer')
  const model = text('model', 'modelo')
  const title = text('title', 'titulo', 'name', 'nome', 'product', 'produto', 'productname', 'description', 'descricao')
  const query = text('query', 'searchquery', 'search', 'busca', 'termobusca', 'termodebusca', 'consulta', 'searchterm')
  const said = fold(text('kind', 'tipo', 'type', 'category', 'categoria', 'itemtype') ?? '')
  const vehicle = fold(text('vehicletype', 'tipoveiculo', 'tipodeveiculo') ?? '')
  const about = /veic|vehicle|carro|\bcar|auto|moto|caminh|truck/.test(said) ? 'vehicle' : 'product'
  const kind = request.kind ?? (vehicle !== '' && said === '' ? 'vehicle' : about)
  if (brand === null && model === null && title === null && query === null && said === '') return null
  const fallback = textOrNull(request.description, longest) ?? ''
  if (kind === 'vehicle') {
    const type = types.find(([pattern]) => pattern.test(`${vehicle} ${said}`))?.[1] ?? 'cars'
    const named = model ?? title ?? fallback
    return {
      kind,
      vehicleType: type,
      brand: brand ?? '',
      model: named,
      year: yearOf(text('year', 'ano', 'anomodelo', 'modelyear', 'anodomodelo')),
      fuel: text('fuel', 'combustivel', 'fueltype'),
    }
  }
  const shown = title ?? ([brand, model].filter(Boolean).join(' ') || fallback)
  return { kind, title: shown, query: query ?? shown, brand, model }
}

/** null: new, or not said. */
function yearOf(text: string | null): number | null {
  const year = Number(/\b(?:19|20)\d{2}\b/.exec(text ?? '')?.[0])
  return Number.isInteger(year) && year > 0 ? year : null
}

const fold = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()

/** The values of an object and of the objects inside, by names in small letters without separators; an outer value comes first. */
function flattened(given: Record<string, unknown>, depth = 0, into = new Map<string, unknown>()): Map<string, unknown> {
  const entries = Object.entries(given).slice(0, 200)
  for (const [name, value] of entries) {
    const key = fold(name).replace(/[^a-z]/g, '')
    if (word(value) !== '' && !into.has(key)) into.set(key, value)
  }
  for (const [, value] of entries) {
    const inner = fields(value)
    if (inner !== undefined && depth < 3) flattened(inner, depth + 1, into)
  }
  return into
}
