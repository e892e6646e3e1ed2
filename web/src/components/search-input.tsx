/** A search field: Enter searches, an emptied field shows everything again. */
import { useEffect, useState } from 'react'
import { Input } from './field.tsx'

interface SearchInputProps {
  label: string
  value: string
  onSearch(text: string): void
}

export function SearchInput({ label, value, onSearch }: SearchInputProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <form
      role="search"
      aria-label={label}
      onSubmit={event => {
        event.preventDefault()
        onSearch(text.trim())
      }}
    >
      <Input
        label={label}
        hideLabel
        type="search"
        placeholder={label}
        value={text}
        onInput={event => {
          const typed = event.currentTarget.value
          setText(typed)
          if (typed === '' && value !== '') onSearch('')
        }}
      />
    </form>
  )
}
