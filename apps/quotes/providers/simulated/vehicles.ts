/** Simulates FIPE: a few brands with their models, and prices that follow from the names. */
import type { VehicleEntry, VehicleProvider, VehicleType } from '../types.ts'
import { chanceOf, type Pause } from './chance.ts'

interface Brand {
  code: string
  name: string
  type: VehicleType
  /** Names of the brand that people write. */
  aliases: readonly string[]
  /** Names of models that nobody else has. */
  known: readonly string[]
  models: readonly string[]
}

export const vehicleBrands: readonly Brand[] = [
  { code: '23', name: 'GM - Chevrolet', type: 'cars', aliases: ['chevrolet', 'gm'], known: ['onix', 'tracker', 's10'], models: ['ONIX HATCH LT 1.0 12V Flex 5p Mec.', 'ONIX SEDAN PLUS PREM. 1.0 12V TB Flex Aut.', 'TRACKER LT 1.2 Turbo 12V Flex Aut.', 'S10 LTZ 2.8 TB Diesel 4x4 CD Aut.'] },
  { code: '21', name: 'Fiat', type: 'cars', aliases: ['fiat'], known: ['uno', 'strada', 'argo', 'toro'], models: ['ARGO DRIVE 1.0 6V Flex', 'STRADA VOLCANO 1.3 8V Flex CD', 'TORO FREEDOM 1.3 16V TB Flex Aut.', 'UNO WAY 1.0 Flex 6V 5p', 'UNO MILLE 1.0 Fire/ F.Flex/ ECONOMY 4p'] },
  { code: '59', name: 'VW - VolksWagen', type: 'cars', aliases: ['volkswagen', 'vw'], known: ['gol', 'polo', 'fusca', 'tcross'], models: ['Gol 1.0 Flex 12V 5p', 'Gol (novo) 1.6 Mi Total Flex 8V 4p', 'Polo 1.0 TSI Flex 12V Aut.', 'T-Cross Comfortline 1.0 TSI Flex 12V Aut.', 'Fusca 1.6'] },
  { code: '56', name: 'Toyota', type: 'cars', aliases: ['toyota'], known: ['corolla', 'hilux', 'yaris'], models: ['Corolla XEi 2.0 Flex 16V Aut.', 'Corolla Altis Hybrid 1.8 16V Flex Aut.', 'Hilux CD SRX 4x4 2.8 TDI Diesel Aut.', 'YARIS XL 1.3 Flex 16V 5p Aut.'] },
  { code: '25', name: 'Honda', type: 'cars', aliases: ['honda'], known: ['civic', 'fit', 'hrv'], models: ['Civic EX 2.0 16V Flex Aut.', 'Fit EXL 1.5 Flex 16V 5p Aut.', 'HR-V EXL 1.8 Flex 16V 5p Aut.'] },
  { code: '26', name: 'Hyundai', type: 'cars', aliases: ['hyundai'], known: ['hb20', 'creta'], models: ['HB20 Comfort 1.0 Flex 12V Mec.', 'Creta Prestige 2.0 16V Flex Aut.'] },
  { code: '80', name: 'HONDA', type: 'motorcycles', aliases: ['honda'], known: ['cg', 'biz', 'titan', 'hornet'], models: ['CG 160 TITAN FLEX', 'BIZ 125 FLEX', 'CB 500 HORNET'] },
  { code: '101', name: 'YAMAHA', type: 'motorcycles', aliases: ['yamaha'], known: ['fazer'], models: ['FAZER 250 FZ25 FLEX', 'MT-03 321'] },
  { code: '116', name: 'VOLVO', type: 'trucks', aliases: ['volvo'], known: ['fh'], models: ['FH-540 6x4 2p (diesel)(E5)'] },
] // biome-ignore format: a brand for each line

/** The newest month first; the code changes every month. */
const months: readonly VehicleEntry[] = [
  { code: '331', name: 'novembro/2026' },
  { code: '330', name: 'outubro/2026' },
]
const newest = 2026
const oldest = 2008

export function simulatedVehicles(pause: Pause): VehicleProvider {
  const later = async <T>(answer: T, name: string, signal: AbortSignal): Promise<T> => {
    await pause(chanceOf('fipe', name).whole(80, 200), signal)
    return answer
  }
  const modelOf = (type: VehicleType, brand: string, model: string) =>
    vehicleBrands.find(each => each.type === type && each.code === brand)?.models[Number(model) - 1]
  return {
    simulated: true,
    source: 'simulated',
    references: signal => later([...months], 'references', signal),
    brands: (type, _, signal) =>
      later(
        vehicleBrands.filter(each => each.type === type).map(({ code, name }) => ({ code, name })),
        `brands ${type}`,
        signal,
      ),
    models: (type, brand, _, signal) =>
      later(
        (vehicleBrands.find(each => each.type === type && each.code === brand)?.models ?? []).map((name, index) => ({
          code: String(index + 1),
          name,
        })),
        `models ${brand}`,
        signal,
      ),
    years: (type, brand, model, _, signal) =>
      later(yearsOf(modelOf(type, brand, model) ?? ''), `years ${model}`, signal),
    price: (type, brand, model, year, reference, signal) => {
      const name = modelOf(type, brand, model) ?? ''
      const modelYear = Number.parseInt(year, 10)
      const answer = {
        brand: vehicleBrands.find(each => each.type === type && each.code === brand)?.name ?? '',
        model: name,
        modelYear,
        fuel: fuelOf(name),
        codeFipe: `${chanceOf(brand, name).whole(1000, 9999).toString().padStart(6, '0')}-${chanceOf(name).whole(0, 9)}`,
        price: priceOf(type, name, modelYear),
        referenceMonth: months.find(each => each.code === reference)?.name.replace('/', ' de ') ?? reference,
      }
      return later(answer, `price ${name} ${year}`, signal)
    },
  }
}

const fuelOf = (model: string) => (/diesel|tdi/i.test(model) ? 'Diesel' : /flex/i.test(model) ? 'Flex' : 'Gasolina')

function yearsOf(model: string): VehicleEntry[] {
  const fuel = fuelOf(model)
  const code = fuel === 'Diesel' ? 3 : 1
  const used = Array.from({ length: newest - oldest + 1 }, (_, age) => ({
    code: `${newest - age}-${code}`,
    name: `${newest - age} ${fuel}`,
  }))
  return [{ code: `32000-${code}`, name: `32000 ${fuel}` }, ...used]
}

/** A new one by its type and name; each year of age takes a part. Whole reais, as FIPE's. */
function priceOf(type: VehicleType, model: string, year: number): string {
  const bases = { cars: 98_000, motorcycles: 19_000, trucks: 780_000 }
  const age = year > newest ? 0 : newest - year + 1
  const chance = chanceOf('fipe price', model)
  let price = Math.round(bases[type] * (0.8 + 0.6 * chance.next()))
  for (let passed = 0; passed < age; passed++) price -= Math.floor(price / 12)
  return `${price}.00`
}
