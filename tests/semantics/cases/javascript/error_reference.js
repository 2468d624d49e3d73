const é = 'wide 日本'; nothing(é);
