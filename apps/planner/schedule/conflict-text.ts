/** Says in words which rules collide, and where people are missing. */
import { type LocalizedText, localized } from 'retoma'
import type { Conflict } from './conflicts.ts'
import type { Rule } from './model.ts'
import type { Problem } from './problem.ts'

const mostPlaces = 5

/** A rule in words, with the number of the problem. */
function ruleText(rule: Rule, { rules }: Problem): LocalizedText {
  switch (rule) {
    case 'demand':
      return localized('the demand for people', 'a demanda de pessoas')
    case 'skills':
      return localized('the minimum of people with a skill', 'o mínimo de pessoas com uma habilidade')
    case 'min_hours':
      return localized('the minimum of hours per week', 'o mínimo de horas por semana')
    case 'availability':
      return localized('the availability of the people', 'a disponibilidade das pessoas')
    case 'days_off':
      return localized('the days off', 'as folgas pedidas')
    case 'shift_skill':
      return localized('the skill that a shift requires', 'a habilidade que um turno exige')
    case 'max_hours':
      return localized('the maximum of hours per week', 'o máximo de horas por semana')
    case 'min_rest':
      return localized(
        `${rules.min_rest_hours} h of rest between shifts`,
        `o descanso de ${rules.min_rest_hours} h entre turnos`,
      )
    case 'days_in_row':
      return localized(
        rules.max_days_in_row === 1 ? 'never two days in a row' : `at most ${rules.max_days_in_row} days in a row`,
        rules.max_days_in_row === 1 ? 'nunca dois dias seguidos' : `o máximo de ${rules.max_days_in_row} dias seguidos`,
      )
    case 'nights':
      return localized(
        `at most ${rules.max_nights_per_week} ${rules.max_nights_per_week === 1 ? 'night' : 'nights'} per week`,
        `o máximo de ${rules.max_nights_per_week} ${rules.max_nights_per_week === 1 ? 'noite' : 'noites'} por semana`,
      )
    case 'one_shift_a_day':
      return localized('one shift per person and day', 'um turno por pessoa e dia')
  }
}

function placeText(place: Conflict['places'][number]): LocalizedText {
  const { missing } = place
  const amount = String(missing).replace('.', ',')
  if ('person' in place) {
    const { person, week_of } = place
    return localized(
      `${missing} h of ${person} in the week of ${week_of}`,
      `${amount} h de ${person} na semana de ${week_of}`,
    )
  }
  const at = `${place.date} ${place.shift ?? `${place.hour} h`}`
  if (place.skill !== null)
    return localized(
      `${missing} with the skill "${place.skill}" on ${at}`,
      `${amount} com a habilidade "${place.skill}" em ${at}`,
    )
  const [en, pt] = missing === 1 ? ['person', 'pessoa'] : ['people', 'pessoas']
  return localized(`${missing} ${en} on ${at}`, `${amount} ${pt} em ${at}`)
}

/** The colliding rules and the uncovered places, in one sentence. */
export function conflictText({ rules, isProved, places }: Conflict, problem: Problem): LocalizedText {
  const words = rules.map(rule => ruleText(rule, problem))
  const shown = places.slice(0, mostPlaces).map(placeText)
  const more = places.length - shown.length
  const sentence = (language: 'en' | 'pt', and: string, missing: string, others: string, perhaps: string) => {
    const list = new Intl.ListFormat(language === 'pt' ? 'pt-BR' : 'en', { type: 'conjunction' })
    const collide = `${list.format(words.map(word => word[language]))}${isProved ? '' : ` (${perhaps})`}`
    if (shown.length === 0) return collide
    return `${collide}. ${missing}: ${shown.map(place => place[language]).join('; ')}${more > 0 ? ` ${and} ${others}` : ''}`
  }
  return localized(
    sentence('en', 'and', 'Missing', `${more} more`, 'perhaps not all of them are needed'),
    sentence('pt', 'e', 'Faltam', `mais ${more}`, 'talvez nem todas sejam necessárias'),
  )
}
