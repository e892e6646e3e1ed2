/** The choice of pages: its form, and the pages of a document. */
import { expect, test } from 'vitest'
import { chosenPages, longestSelection, pageSelectionOf } from './page-selection.ts'

test.each([
  ['1-3,7,-1', '1-3,7,-1'],
  [' 1 - 3, 7 ', '1-3,7'],
  ['2--1', '2--1'],
  ['-3--1', '-3--1'],
  ['', undefined],
  ['0', undefined],
  ['1-0', undefined],
  ['3-1', undefined],
  ['-1--3', undefined],
  ['1,,2', undefined],
  ['1;2', undefined],
  ['a', undefined],
  ['1.5', undefined],
  ['100001', undefined],
  ['1'.repeat(7), undefined],
  [`${'1,'.repeat(longestSelection)}1`, undefined],
])('the choice %j is stored as %j', (given, stored) => {
  expect(pageSelectionOf(given)).toBe(stored)
})

test.each([
  [null, [1, 2, 3, 4, 5]],
  ['1-3,7,-1', [1, 2, 3, 5]],
  ['-1,1,1-2', [1, 2, 5]],
  ['2--2', [2, 3, 4]],
  ['-3--1', [3, 4, 5]],
  ['4--4', []],
  ['6-9', []],
  ['-9', []],
] as const)('of five pages %j are %j', (selection, pages) => {
  expect(chosenPages(selection, 5)).toEqual(pages)
})
