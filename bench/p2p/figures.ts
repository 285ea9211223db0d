import { median } from '../figures.ts'

/** Results of one round, in milliseconds. Figures that a program does not report are missing. */
export interface Figures {
  p50: number
  p90: number
  p99: number
  max: number
  /** From the publish order to the signature, before other hosts are involved. */
  sign?: number
  /** Number of (block, host) pairs without delivery. */
  missed: number
  /** Processor time of all hosts for each block, with the quiet time between blocks. */
  cpuPerBlock: number
  bytesPerBlockAndHost: number
  /** Copies of a block that each host receives. */
  copies?: number
  /** Validations of a block that the host had validated before. */
  duplicates?: number
  loopDelayP99?: number
  /** After a garbage collection. */
  heapMbPerHost?: number
}

/** Medians of the rounds. For figures that must be zero, the sum. */
export function summarize(rounds: readonly Figures[]): Figures {
  const of = (pick: (round: Figures) => number): number => median(rounds.map(pick))
  const sum = (pick: (round: Figures) => number): number => rounds.reduce((total, round) => total + pick(round), 0)
  const optional = (key: 'sign' | 'copies' | 'loopDelayP99' | 'heapMbPerHost') => {
    const values = rounds.map((round) => round[key]).filter((value) => value !== undefined)
    return values.length === 0 ? {} : { [key]: median(values) }
  }
  return {
    p50: of((round) => round.p50),
    p90: of((round) => round.p90),
    p99: of((round) => round.p99),
    max: of((round) => round.max),
    ...optional('sign'),
    missed: sum((round) => round.missed),
    cpuPerBlock: of((round) => round.cpuPerBlock),
    bytesPerBlockAndHost: of((round) => round.bytesPerBlockAndHost),
    ...optional('copies'),
    ...(rounds.some((round) => round.duplicates !== undefined) ? { duplicates: sum((r) => r.duplicates ?? 0) } : {}),
    ...optional('loopDelayP99'),
    ...optional('heapMbPerHost'),
  }
}

const COLUMNS: readonly [title: string, width: number, pick: (figures: Figures) => number | undefined][] = [
  ['p50', 8, (figures) => figures.p50],
  ['p90', 8, (figures) => figures.p90],
  ['p99', 8, (figures) => figures.p99],
  ['max', 8, (figures) => figures.max],
  ['sign', 7, (figures) => figures.sign],
  ['missed', 8, (figures) => figures.missed],
  ['kB', 8, (figures) => figures.bytesPerBlockAndHost / 1000],
  ['copies', 8, (figures) => figures.copies],
  ['twice', 7, (figures) => figures.duplicates],
  ['CPU', 8, (figures) => figures.cpuPerBlock],
  ['loop', 8, (figures) => figures.loopDelayP99],
  ['MB', 7, (figures) => figures.heapMbPerHost],
]
const NAME_WIDTH = 34

export const LEGEND =
  'ms from the signature to delivery at the other hosts; sign: encoding and signing before; missed: block and host;\n' +
  'kB sent, a block and host; copies a block and host;\n' +
  'twice: judged again; CPU: ms a block, all hosts; loop: p99 of event-loop delay, ms; MB: heap a host'

export const tableHead = (): string =>
  ' '.repeat(NAME_WIDTH) + COLUMNS.map(([title, width]) => title.padStart(width)).join('')

export function tableRow(name: string, figures: Figures): string {
  const cells = COLUMNS.map(([, width, pick]) => {
    const value = pick(figures)
    if (value === undefined || Number.isNaN(value)) return '-'.padStart(width)
    return (Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 1 : 0)).padStart(width)
  })
  return name.padEnd(NAME_WIDTH) + cells.join('')
}

/** Our figures as multiples of the rival's. */
export function ratioRow(name: string, ours: Figures, rival: Figures): string {
  const of = (a: number, b: number): string => (b > 0 ? `${(a / b).toFixed(2)}x` : '-')
  return `${name.padEnd(NAME_WIDTH)}${[
    of(ours.p50, rival.p50),
    of(ours.p90, rival.p90),
    of(ours.p99, rival.p99),
    of(ours.max, rival.max),
  ]
    .map((text) => text.padStart(8))
    .join('')}${' '.repeat(38)}${of(ours.cpuPerBlock, rival.cpuPerBlock).padStart(8)}`
}
