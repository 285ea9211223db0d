import { expect, it } from 'vitest'
import { Room } from './room.ts'

it('memory comes back as zeros, and is never that of two frames', () => {
  const room = new Room()
  const first = room.takeMemory(32)
  first.memory.fill(7, 0, 96)
  const other = room.takeMemory(32)
  expect(other.memory).not.toBe(first.memory)
  room.giveBack({ ...first, memorySize: 96 })
  const again = room.takeMemory(first.memory.length)
  expect(again).toEqual({ memory: new Uint8Array(first.memory.length), view: first.view })
  expect(again.memory).toBe(first.memory)
  expect(room.takeMemory(32).memory).not.toBe(first.memory)
})

it('too little memory is left for a frame that needs less, and much is not kept', () => {
  const room = new Room()
  const little = room.takeMemory(32)
  room.giveBack({ ...little, memorySize: 0 })
  const much = room.takeMemory(100_000)
  expect(much.memory).toHaveLength(100_000)
  room.giveBack({ ...much, memorySize: 100_000 })
  expect(room.takeMemory(32).memory).toBe(little.memory)
})
