/** Filters of a page in its address, so that a filter can be kept as a bookmark and sent to a colleague. */
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'

type Filters<Name extends string> = Readonly<Partial<Record<Name, string>>>

/** Reads the parameters `names` of the address. `change` replaces some of them; an empty text removes a parameter. */
export function useFilters<Name extends string>(
  names: readonly Name[],
): [Filters<Name>, (change: Partial<Record<Name, string | undefined>>) => void] {
  const [search, setSearch] = useSearchParams()
  const text = search.toString()
  const filters = useMemo(() => {
    const found = new URLSearchParams(text)
    return Object.fromEntries(
      names.flatMap(name => {
        const value = found.get(name)
        return value === null || value === '' ? [] : [[name, value]]
      }),
    ) as Filters<Name>
  }, [text, names])
  const change = (next: Partial<Record<Name, string | undefined>>) =>
    setSearch(
      before => {
        const after = new URLSearchParams(before)
        for (const [name, value] of Object.entries(next) as [string, string | undefined][]) {
          if (value === undefined || value === '') after.delete(name)
          else after.set(name, value)
        }
        return after
      },
      { replace: true },
    )
  return [filters, change]
}
