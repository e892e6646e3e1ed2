/** Fields of a form: a label, the input, a hint or an error that is read aloud with the input. */
import type { ComponentChildren, InputHTMLAttributes, JSX } from 'preact'
import { useId } from 'react'
import { classes } from '../lib/classes.ts'

const box =
  'w-full rounded-md border border-line-strong bg-surface px-2.5 text-base text-ink hover:border-faint aria-invalid:border-bad disabled:opacity-60'

interface FieldProps {
  label: string
  /** The label is read aloud only: for a search field. */
  hideLabel?: boolean
  hint?: string | undefined
  error?: string | undefined
}

interface Ids {
  id: string
  'aria-describedby'?: string
  'aria-invalid'?: boolean
}

interface FieldFrame extends FieldProps {
  children(ids: Ids): ComponentChildren
}

/** For any other input: `children` gets the ids that connect the input with its label, hint and error. */
export function Field({ label, hideLabel = false, hint, error, children }: FieldFrame) {
  const id = useId()
  const note = error ?? hint
  return (
    <div class="flex min-w-0 flex-col gap-1">
      <label for={id} class={hideLabel ? 'sr-only' : 'text-sm font-medium text-muted'}>
        {label}
      </label>
      {children({
        id,
        ...(note === undefined ? {} : { 'aria-describedby': `${id}-note` }),
        ...(error === undefined ? {} : { 'aria-invalid': true }),
      })}
      {note !== undefined && (
        <p id={`${id}-note`} class={classes('text-sm', error === undefined ? 'text-muted' : 'text-bad')}>
          {note}
        </p>
      )}
    </div>
  )
}

type InputProps = FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, 'label' | 'id' | 'role'>

export const Input = ({ label, hideLabel, hint, error, class: more, ...rest }: InputProps) => (
  <Field label={label} hideLabel={hideLabel ?? false} hint={hint} error={error}>
    {ids => (
      <input
        {...(rest as unknown as JSX.IntrinsicElements['input'])}
        {...ids}
        class={classes(box, 'h-8', more as string | undefined)}
      />
    )}
  </Field>
)

type TextAreaProps = FieldProps & Omit<JSX.IntrinsicElements['textarea'], 'label' | 'id'>

export const TextArea = ({ label, hideLabel, hint, error, class: more, ...rest }: TextAreaProps) => (
  <Field label={label} hideLabel={hideLabel ?? false} hint={hint} error={error}>
    {ids => <textarea rows={4} {...rest} {...ids} class={classes(box, 'py-1.5', more as string | undefined)} />}
  </Field>
)

interface SelectProps extends FieldProps {
  value: string
  onSelect(value: string): void
  options: readonly { value: string; label: string }[]
  disabled?: boolean
}

export const Select = ({ label, hideLabel, hint, error, value, onSelect, options, disabled }: SelectProps) => (
  <Field label={label} hideLabel={hideLabel ?? false} hint={hint} error={error}>
    {ids => (
      <select
        {...ids}
        value={value}
        disabled={disabled ?? false}
        class={classes(box, 'h-8')}
        onChange={event => onSelect(event.currentTarget.value)}
      >
        {options.map(option => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Field>
)
