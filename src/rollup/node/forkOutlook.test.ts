import { describe, expect, it } from 'vitest'
import { type ForkOutlookFacts, forkOutlook } from './forkOutlook.ts'

const AT = 1_000
const KARST_THEN_LAGOON = { jovian: 0, karst: AT, lagoon: AT + 10 }
const outlook = (l2Time: number, change: Partial<ForkOutlookFacts> = {}) =>
  forkOutlook({ config: { forks: KARST_THEN_LAGOON }, l2Time, follows: false, engine: undefined, ...change })

describe('forkOutlook', () => {
  it('advances from fork to fork with the chain', () => {
    expect(outlook(AT - 1)).toMatchObject({ active: 'jovian', next: { name: 'karst', time: AT } })
    expect(outlook(AT)).toMatchObject({ active: 'karst', next: { name: 'lagoon', time: AT + 10 } })
    expect(outlook(AT + 10)).toEqual({ active: 'lagoon', next: undefined })
    expect(outlook(AT, { config: { forks: {} } })).toEqual({ active: 'bedrock', next: undefined })
  })

  it('reports that Lagoon requires its bundle, except for a node that follows another one', () => {
    const next = { name: 'lagoon', time: AT + 10 }
    expect(outlook(AT).next).toEqual({ ...next, isReady: false, problem: expect.stringMatching(/upgrade-bundle/) })
    const unknown = { ...next, isReady: undefined, problem: undefined }
    expect(outlook(AT, { follows: true }).next).toEqual(unknown)
    expect(outlook(AT, { config: { forks: KARST_THEN_LAGOON, lagoonBundle: [] } }).next).toEqual(unknown)
  })

  it("uses the engine's answer", () => {
    const ready = { isReady: true, problem: undefined }
    const engine = ({ name }: { name: string }) => (name === 'karst' ? ready : undefined)
    expect(outlook(AT - 1, { engine }).next).toEqual({ name: 'karst', time: AT, ...ready })
    const old = { isReady: false, problem: 'The engine is too old' }
    expect(outlook(AT - 1, { engine: () => old }).next).toEqual({ name: 'karst', time: AT, ...old })
  })

  it('includes unknown forks in time order', () => {
    const mars = { name: 'mars', time: AT + 5 }
    const config = { forks: KARST_THEN_LAGOON, unknownForks: [mars] }
    expect(outlook(AT, { config }).next).toEqual({
      ...{ ...mars, isReady: false, problem: 'This version does not know the fork mars' },
    })
    expect(outlook(AT - 1, { config }).next?.name).toBe('karst')
  })
})
