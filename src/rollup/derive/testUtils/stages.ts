import type { Hex } from '../../../lib/hex.ts'
import type { Frame } from '../../protocol/index.ts'
import type { L1BlockRef } from '../../protocol/types.ts'
import type { Pull } from '../types.ts'
import { l1Ref } from './config.ts'

/** A lower stage that returns the items that the test has pushed for the current L1 block. */
export class ScriptedStage<T> {
  origin: L1BlockRef = l1Ref(1)
  flushed = 0
  private items: T[] = []

  push(...items: T[]): this {
    this.items.push(...items)
    return this
  }

  async next(): Promise<Pull<T>> {
    return this.items.shift() ?? 'empty'
  }

  flushChannel(): void {
    this.flushed++
  }

  /** Moves to L1 block `number`. */
  at(number: number): this {
    this.origin = l1Ref(number)
    return this
  }
}

/** Pulls until the stage has no more items for this L1 block. */
export async function drain<T>(stage: { next(): Promise<Pull<T>> }): Promise<T[]> {
  const items: T[] = []
  for (let calls = 0; calls < 10_000; calls++) {
    const pulled = await stage.next()
    if (pulled === 'empty') return items
    if (pulled !== 'again') items.push(pulled)
  }
  throw new Error('the stage never runs empty')
}

/** A frame by its name: `A0` is frame 0 of channel A, `A1!` its closing frame 1. The data are the name. */
export function frame(name: string): Frame {
  const match = /^(\w)(\d+)(!?)$/.exec(name)
  if (match === null) throw new Error(`frame name ${name}`)
  const [, channel = '', number, last] = match
  return { channelId: channelId(channel), number: Number(number), data: Buffer.from(name), isLast: last === '!' }
}

export function channelId(channel: string): Hex {
  return `0x${channel.charCodeAt(0).toString(16).padStart(32, '0')}`
}

export function nameOf({ channelId: id, number, isLast }: Frame): string {
  return `${String.fromCharCode(Number.parseInt(id.slice(-2), 16))}${number}${isLast ? '!' : ''}`
}

export function frames(names: string): Frame[] {
  return names.split(' ').filter(Boolean).map(frame)
}
