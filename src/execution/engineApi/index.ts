export { createEngineMethods, type EngineModules, type EngineOptions } from './engineMethods.ts'
