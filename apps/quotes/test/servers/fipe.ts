/** A stand-in for FIPE v2 of parallelum, with some vehicles. A call is about its path. No answer is sold; a day has a limit of calls. */
import { type Asked, json, type Reply, type StandIn, standIn } from './stand-in.ts'

export interface FipeServer extends StandIn {
  readonly baseUrl: string
  readonly token: string
  /** Calls before every further call is a 429. Default: no limit. */
  setCallsLeft(left: number): void
}

export const fipeBrands = [
  { code: '21', name: 'Fiat' },
  { code: '23', name: 'GM - Chevrolet' },
  { code: '25', name: 'Honda' },
  { code: '56', name: 'Toyota' },
  { code: '59', name: 'VW - VolksWagen' },
]

export const fipeModels: Record<string, { code: string; name: string }[]> = {
  21: [
    { code: '437', name: 'Uno Mille Fire Economy Flex 4p' },
    { code: '438', name: 'Uno Vivace 1.0 EVO Fire Flex 8V 5p' },
    { code: '439', name: 'Palio ELX 1.4 mpi Fire Flex 8V 4p' },
  ],
  23: [
    { code: '7602', name: 'ONIX HATCH LT 1.0 8V FlexPower 5p Mec.' },
    { code: '7603', name: 'ONIX HATCH LTZ 1.4 8V FlexPower 5p Aut.' },
    { code: '7604', name: 'ONIX HATCH LTZ 1.4 8V FlexPower 5p Mec.' },
    { code: '8001', name: 'ONIX SEDAN Plus LTZ 1.0 12V TB Flex Aut.' },
  ],
  25: [{ code: '5001', name: 'Civic Sedan EXL 2.0 Flex 16V Aut.4p' }],
  56: [{ code: '6001', name: 'Corolla XEi 2.0 Flex 16V Aut.' }],
  59: [
    { code: '2', name: 'Gol 1.0 Flex 12V 5p' },
    { code: '3', name: 'Gol (novo) 1.6 Mi Total Flex 8V 4p' },
  ],
}

const usualYears = [
  { code: '32000-1', name: '32000 Gasolina' },
  { code: '2020-1', name: '2020 Gasolina' },
  { code: '2019-1', name: '2019 Gasolina' },
  { code: '2019-2', name: '2019 Álcool' },
]

export interface FipeServerOptions {
  /** Default: `fipeModels`, by the code of the brand. */
  models?: Record<string, { code: string; name: string }[]>
  /** Default: a few years. */
  years?: { code: string; name: string }[]
}

export async function fipeServer({
  models = fipeModels,
  years = usualYears,
}: FipeServerOptions = {}): Promise<FipeServer> {
  const token = 'fipe-token-0a1b2c3d4e5f'
  let left = Number.POSITIVE_INFINITY
  const server = await standIn({
    about: ({ url }) => url.pathname.replace('/api/v2', ''),
    error: (_, error) => JSON.stringify({ error }),
    reply: asked => {
      if (left-- <= 0) return json({ error: 'Rate limit exceeded' }, false, 429)
      return replyTo(asked, models, years)
    },
  })
  return {
    ...server,
    baseUrl: `${server.origin}/api/v2`,
    token,
    setCallsLeft: count => {
      left = count
    },
  }
}

function replyTo(
  { url }: Asked,
  catalogue: NonNullable<FipeServerOptions['models']>,
  years: NonNullable<FipeServerOptions['years']>,
): Reply {
  const [, , , type = '', , brand, , model, , year] = url.pathname.split('/')
  if (type === 'references')
    return json([
      { code: '330', month: 'novembro/2026' },
      { code: '329', month: 'outubro/2026' },
    ])
  if (!['cars', 'motorcycles', 'trucks'].includes(type)) return json({ error: 'Not found' }, false, 404)
  if (brand === undefined) return json(fipeBrands)
  const models = catalogue[brand] ?? []
  if (model === undefined) return json(models)
  const name = models.find(each => each.code === model)?.name
  if (name === undefined) return json({ error: 'Not found' }, false, 404)
  if (year === undefined) return json(years)
  if (!years.some(each => each.code === year)) return json({ error: 'Not found' }, false, 404)
  return json({
    brand: fipeBrands.find(each => each.code === brand)?.name,
    codeFipe: `00${model}-1`,
    fuel: 'Gasolina',
    fuelAcronym: 'G',
    model: name,
    modelYear: Number(year.split('-')[0]),
    price: 'R$ 54.321,00',
    priceHistory: [],
    referenceMonth: 'novembro de 2026 ',
    vehicleType: 1,
  })
}
