import type { Hex } from '../../lib/hex.ts'
import type { TransactionCondition } from '../primitives/block.ts'

export interface ConditionView {
  number: number
  timestamp: number
  storageRoot(address: Hex): Hex
  /** 32 bytes. */
  storage(address: Hex, slot: Hex): Hex
}

/** Lookups that a condition needs (op-geth's TransactionConditional.Cost). */
export function conditionCost({ knownAccounts, blocks, timestamps }: TransactionCondition): number {
  let cost = 0
  for (const known of Object.values(knownAccounts))
    cost += 1 + (typeof known === 'string' ? 1 : Object.keys(known).length)
  const isRange = ({ min, max }: { min?: number; max?: number }) => min !== undefined || max !== undefined
  return cost + (isRange(blocks) ? 1 : 0) + (isRange(timestamps) ? 1 : 0)
}

/** Why no block can ever fulfil the condition. Undefined if one can. */
export function conditionFault({ blocks, timestamps }: TransactionCondition): string | undefined {
  for (const [what, { min, max }] of [['block number', blocks] as const, ['timestamp', timestamps] as const]) {
    if (min !== undefined && max !== undefined && min > max) return `${what} range is empty: ${min} to ${max}`
  }
  return undefined
}

/** Why the block does not fulfil the condition. */
export function blockProblem(
  { blocks, timestamps }: TransactionCondition,
  { number, timestamp }: Pick<ConditionView, 'number' | 'timestamp'>,
): string | undefined {
  if (blocks.min !== undefined && number < blocks.min) return `block number ${number} is below ${blocks.min}`
  if (blocks.max !== undefined && number > blocks.max) return `block number ${number} is above ${blocks.max}`
  if (timestamps.min !== undefined && timestamp < timestamps.min)
    return `timestamp ${timestamp} is below ${timestamps.min}`
  if (timestamps.max !== undefined && timestamp > timestamps.max)
    return `timestamp ${timestamp} is above ${timestamps.max}`
  return undefined
}

/** Why the state does not fulfil the condition. */
export function stateProblem(
  { knownAccounts }: TransactionCondition,
  view: Pick<ConditionView, 'storageRoot' | 'storage'>,
): string | undefined {
  for (const [key, known] of Object.entries(knownAccounts)) {
    const address = key as Hex
    if (typeof known === 'string') {
      const root = view.storageRoot(address)
      if (root !== known) return `storage root of ${address} is ${root}, not ${known}`
      continue
    }
    for (const [slot, wanted] of Object.entries(known)) {
      const value = view.storage(address, slot as Hex)
      if (value !== wanted) return `slot ${slot} of ${address} is ${value}, not ${wanted}`
    }
  }
  return undefined
}
