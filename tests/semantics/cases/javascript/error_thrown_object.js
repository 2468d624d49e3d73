throw { reason: ['x', { deep: { deeper: { deepest: 1 } } }] };
