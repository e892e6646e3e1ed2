/** Reads fields of parsed JSON that a service or a model wrote. Pure functions for any value. */

export type Fields = Record<string, unknown>

export const fields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
/** Only text and numbers: conversion of an unknown object to text may throw. */
export const word = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
export const textOrNull = (value: unknown, most = 500): string | null => {
  const text = word(value)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed()
  return text === '' ? null : text
}

/** undefined: no JSON. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}
