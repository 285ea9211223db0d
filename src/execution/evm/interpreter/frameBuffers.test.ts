import { expect, it } from 'vitest'
import { FrameBuffers } from './frameBuffers.ts'

it('reused memory is zeroed, and never shared by two frames', () => {
  const buffers = new FrameBuffers()
  const first = buffers.takeMemory(32)
  first.memory.fill(7, 0, 96)
  const other = buffers.takeMemory(32)
  expect(other.memory).not.toBe(first.memory)
  buffers.release({ ...first, memorySize: 96 })
  const again = buffers.takeMemory(first.memory.length)
  expect(again).toEqual({ memory: new Uint8Array(first.memory.length), view: first.view })
  expect(again.memory).toBe(first.memory)
  expect(buffers.takeMemory(32).memory).not.toBe(first.memory)
})

it('a small buffer stays available for a smaller frame, and a large buffer is not kept', () => {
  const buffers = new FrameBuffers()
  const little = buffers.takeMemory(32)
  buffers.release({ ...little, memorySize: 0 })
  const much = buffers.takeMemory(100_000)
  expect(much.memory).toHaveLength(100_000)
  buffers.release({ ...much, memorySize: 100_000 })
  expect(buffers.takeMemory(32).memory).toBe(little.memory)
})
