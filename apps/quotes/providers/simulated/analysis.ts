/** Analyses a description by keywords, for want of a key: brands of vehicles make a vehicle, everything else is a product. */
import type { Analysis, AnalysisProvider, AnalysisRequest, VehicleType } from '../types.ts'
import { chanceOf, type Pause } from './chance.ts'
import { vehicleBrands } from './vehicles.ts'

const fuels = ['gasolina', 'etanol', 'flex', 'diesel', 'eletrico', 'hibrido']
const ofTrucks = ['caminhao', 'truck']
const ofMotorcycles = ['moto', 'motocicleta', 'scooter']

export const simulatedAnalysis = (pause: Pause): AnalysisProvider => ({
  simulated: true,
  async analyse(request, signal) {
    const chance = chanceOf('analysis', request.description)
    await pause(chance.whole(50, 250), signal)
    const analysis = analyse(request)
    const inputTokens = 180 + Math.ceil(request.description.length / 4)
    const outputTokens = chance.whole(60, 120)
    const payload = {
      id: `msg_simulado_${chance.whole(100_000, 999_999)}`,
      model: 'simulado',
      simulado: true,
      content: [{ type: 'text', text: JSON.stringify(analysis) }],
      usage: { input_tokens: inputTokens, output_tokens: outputTokens },
    }
    return { analysis, payload, inputTokens, outputTokens }
  },
})

/** Lower case, without accents, in words; `1.0` stays one word. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/(\d),(\d)/g, '$1.$2')
    .match(/\d+\.\d+|[a-z0-9]+/g) ?? []

function analyse({ description, kind }: AnalysisRequest): Analysis {
  const words = wordsOf(description)
  const has = (names: readonly string[]) => words.some(word => names.includes(word))
  const brand = vehicleBrands.find(({ known }) => has(known)) ?? vehicleBrands.find(({ aliases }) => has(aliases))
  const year = words.map(Number).find(word => Number.isInteger(word) && word >= 1950 && word <= 2100) ?? null
  const isVehicle = kind === undefined ? brand !== undefined : kind === 'vehicle'
  return isVehicle ? vehicle(words, brand, year) : product(description)
}

function vehicle(
  words: readonly string[],
  brand: (typeof vehicleBrands)[number] | undefined,
  year: number | null,
): Analysis {
  const fuel = fuels.find(each => words.includes(each)) ?? null
  const left = words.filter(
    word =>
      !brand?.aliases.includes(word) &&
      word !== fuel &&
      Number(word) !== year &&
      !/^(de|do|da|ano|km|carro|usado|zero)$/.test(word),
  )
  return {
    kind: 'vehicle',
    vehicleType: typeOf(words, brand?.type),
    brand: brand?.name ?? words[0] ?? '',
    model: left.join(' '),
    year,
    fuel,
  }
}

function typeOf(words: readonly string[], usual: VehicleType = 'cars'): VehicleType {
  if (words.some(word => ofTrucks.includes(word))) return 'trucks'
  return words.some(word => ofMotorcycles.includes(word)) ? 'motorcycles' : usual
}

function product(description: string): Analysis {
  const title = description.replaceAll(/\s+/g, ' ').trim().slice(0, 120)
  const [brand = null, model = null] = title.split(' ').slice(1, 3)
  return { kind: 'product', title, query: title, brand, model }
}
