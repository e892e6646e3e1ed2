/** Names of vehicles as people write them, beside names as FIPE writes them. */
import { expect, test } from 'vitest'
import { leastScore, matchVehicle, matchYear } from './vehicle-match.ts'

const entries = (...names: string[]) => names.map((name, index) => ({ code: String(index), name }))
const best = (name: string, list: ReturnType<typeof entries>) => matchVehicle(name, list)[0]

const brands = entries(
  'Acura', 'Audi', 'BMW', 'Caoa Chery', 'Caoa Chery/Chery', 'Citroën', 'Fiat', 'Ford', 'GM - Chevrolet', 'Honda', 'Hyundai',
  'Kia Motors', 'Land Rover', 'Mercedes-Benz', 'Mitsubishi', 'Nissan', 'Peugeot', 'Renault', 'Rover', 'Toyota', 'VW - VolksWagen', 'Volvo',
) // biome-ignore format: read as one list

test.each([
  ['Chevrolet', 'GM - Chevrolet'],
  ['GM', 'GM - Chevrolet'],
  ['VW', 'VW - VolksWagen'],
  ['volkswagen', 'VW - VolksWagen'],
  ['Volkswagem', 'VW - VolksWagen'],
  ['citroen', 'Citroën'],
  ['Mercedes Benz', 'Mercedes-Benz'],
  ['Mercedes', 'Mercedes-Benz'],
  ['Land Rover', 'Land Rover'],
  ['Kia', 'Kia Motors'],
  ['Hiundai', 'Hyundai'],
  ['Chery', 'Caoa Chery'],
])('brand %s is %s', (name, expected) => {
  const match = best(name, brands)
  expect(match?.name).toBe(expected)
  expect(match?.score).toBeGreaterThanOrEqual(leastScore)
})

const models = entries(
  'ONIX HATCH JOY 1.0 8V Flex 5p Mec.', 'ONIX HATCH LT 1.0 8V FlexPower 5p Mec.', 'ONIX HATCH LT 1.4 8V FlexPower 5p Aut.',
  'ONIX HATCH LTZ 1.4 8V FlexPower 5p Aut.', 'ONIX HATCH LTZ 1.4 8V FlexPower 5p Mec.', 'ONIX SEDAN Plus LTZ 1.0 12V TB Flex Aut.',
  'ONIX SEDAN Plus LT 1.0 12V Flex 4p Mec.', 'PRISMA Sed. LTZ 1.4 8V FlexPower 4p Aut.', 'S10 Pick-Up LTZ 2.8 TDI 4x4 CD Dies.Aut', 'CRUZE LTZ 1.8 16V FlexPower 4p Aut.',
  'Gol (novo) 1.0 Mi Total Flex 8V 4p', 'Gol (novo) 1.6 Mi Total Flex 8V 4p', 'Civic Sedan EXL 2.0 Flex 16V Aut.4p', 'Civic Sedan LXS 1.8/1.8 Flex 16V Aut. 4p',
  'HB20 Comfort 1.0 Flex 12V Mec.', 'HB20S Comfort 1.0 Flex 12V Mec.', 'CG 160 FAN', 'CG 160 TITAN', 'CG 150 TITAN-ESD', 'XRE 300',
) // biome-ignore format: read as one list

test.each([
  ['Onix LTZ 1.4 automático', 'ONIX HATCH LTZ 1.4 8V FlexPower 5p Aut.'],
  ['onix ltz 1,4 manual', 'ONIX HATCH LTZ 1.4 8V FlexPower 5p Mec.'],
  ['Onix Plus LTZ 1.0 Turbo', 'ONIX SEDAN Plus LTZ 1.0 12V TB Flex Aut.'],
  ['Onix Joy 1.0', 'ONIX HATCH JOY 1.0 8V Flex 5p Mec.'],
  ['S-10 LTZ 2.8 diesel 4x4', 'S10 Pick-Up LTZ 2.8 TDI 4x4 CD Dies.Aut'],
  ['Gol 1.6', 'Gol (novo) 1.6 Mi Total Flex 8V 4p'],
  ['Civic EXL 2.0', 'Civic Sedan EXL 2.0 Flex 16V Aut.4p'],
  ['HB20 Comfort 1.0', 'HB20 Comfort 1.0 Flex 12V Mec.'],
  ['HB20S Comfort', 'HB20S Comfort 1.0 Flex 12V Mec.'],
  ['CG 160 Titan', 'CG 160 TITAN'],
  ['CG 150 Titan ESD', 'CG 150 TITAN-ESD'],
  ['xre300', 'XRE 300'],
])('model %s is %s', (name, expected) => {
  const match = best(name, models)
  expect(match?.name).toBe(expected)
  expect(match?.score).toBeGreaterThanOrEqual(leastScore)
})

test('an equal name has the highest score, and another vehicle is below the least score', () => {
  expect(best('CG 160 TITAN', models)).toMatchObject({ name: 'CG 160 TITAN', score: 1 })
  for (const name of ['Tesla Model 3', 'Ferrari Roma', 'Corolla XEi 2.0 Flex'])
    expect(best(name, models)?.score ?? 0, name).toBeLessThan(leastScore)
  expect(matchVehicle('', models)).toEqual([])
  expect(matchVehicle('onix', [])).toEqual([])
})

test('a year is found by number and fuel; no year is a new vehicle', () => {
  const years = [
    { code: '32000-1', name: '32000 Gasolina' },
    { code: '2019-1', name: '2019 Gasolina' },
    { code: '2019-2', name: '2019 Álcool' },
    { code: '2018-3', name: '2018 Diesel' },
  ]
  expect(matchYear({ year: 2019, fuel: 'gasolina' }, years)).toMatchObject({ code: '2019-1', score: 1 })
  expect(matchYear({ year: 2019, fuel: 'Etanol' }, years)).toMatchObject({ code: '2019-2', score: 1 })
  expect(matchYear({ year: 2019, fuel: null }, years)).toMatchObject({ code: '2019-1', score: 1 })
  expect(matchYear({ year: 2018, fuel: 'Flex' }, years)).toMatchObject({ code: '2018-3', score: 0.7 })
  expect(matchYear({ year: null, fuel: null }, years)).toMatchObject({ code: '32000-1' })
  expect(matchYear({ year: 1990, fuel: null }, years)).toBe(null)
  expect(matchYear({ year: 2019, fuel: null }, [])).toBe(null)
})
